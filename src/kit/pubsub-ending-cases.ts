import assert from 'node:assert/strict';
import { acknowledge, Collector, eventually, later, publishTexts, textMessage } from './collector.ts';
import { newTopic, type Run } from './pubsub-case.ts';

/** Cases in which consumers or the component are closed and opened again. */

export const settledAfterPause: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const consumer = await Collector.join(component, { topic });
  await publishTexts(component, topic, ['a']);
  const [delivery] = await consumer.expect(1);
  consumer.subscription.pause();
  await delivery?.ack();
  await consumer.subscription.close();
  await (await Collector.join(component, { topic })).expect(0);
  await component.close();
};

export const unsettled: Run = async (open) => {
  const topic = newTopic();
  const before = await open();
  const consumer = await Collector.join(before, { topic, maxInFlight: 2 });
  await publishTexts(before, topic, ['a', 'b', 'c']);
  const [first] = await consumer.expect(2);
  await before.close();
  await Promise.allSettled([first?.ack()]);
  const after = await open();
  const next = await Collector.join(after, { topic }, acknowledge);
  await eventually(
    'the unsettled messages were redelivered',
    () => next.texts.includes('b') && next.texts.includes('c'),
  );
  await later(50);
  assert.deepEqual(
    next.texts.filter((text) => text !== 'a'),
    ['b', 'c'],
  );
  await after.close();
};

export const countedAttempts: Run = async (open) => {
  const topic = newTopic();
  const before = await open();
  const consumer = await Collector.join(before, { topic }, (delivery) => void delivery.retry(0));
  await publishTexts(before, topic, ['a']);
  await eventually('it was retried', () => consumer.deliveries.length >= 3);
  consumer.subscription.pause();
  await before.close();
  const seen = Math.max(...consumer.deliveries.map(({ attempt }) => attempt));
  const after = await open();
  const next = await Collector.join(after, { topic }, acknowledge);
  const [again] = await next.expect(1);
  assert.ok((again?.attempt ?? 0) > seen, `attempt ${again?.attempt} does not go on from ${seen}`);
  await after.close();
};

export const keptForGroup: Run = async (open) => {
  const topic = newTopic();
  const component = await open();
  const consumer = await Collector.join(component, { topic }, acknowledge);
  await consumer.subscription.close();
  await publishTexts(component, topic, ['while away']);
  const next = await Collector.join(component, { topic }, acknowledge);
  await next.expect(1);
  assert.deepEqual(next.texts, ['while away']);
  await component.close();
};

export const closing: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const consumer = await Collector.join(component, { topic });
  await publishTexts(component, topic, ['a']);
  const [delivery] = await consumer.expect(1);
  await consumer.subscription.close();
  await consumer.subscription.close();
  await component.close();
  await component.close();
  await Promise.allSettled([delivery?.ack(), delivery?.retry(0)]);
  await assert.rejects(() => component.publish([textMessage(topic, 'late')]), 'a publish after close must fail');
  await assert.rejects(() =>
    component.subscribe({ topic, group: 'g', maxInFlight: 1, ordered: false, paused: false, deliver: () => undefined }),
  );
};
