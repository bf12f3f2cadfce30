import assert from 'node:assert/strict';
import type { Delivery } from '../components/pubsub.ts';
import { acknowledge, Collector, eventually, later, publishTexts, textMessage, textOf } from './collector.ts';
import { newTopic, numbers, type PubSubCase, type Run } from './pubsub-case.ts';
import { closing, countedAttempts, keptForGroup, settledAfterPause, unsettled } from './pubsub-ending-cases.ts';

const fanOut: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const first = await Collector.join(component, { topic, group: 'first' }, acknowledge);
  const second = await Collector.join(component, { topic, group: 'second' }, acknowledge);
  await publishTexts(component, topic, ['a', 'b']);
  await Promise.all([first.expect(2), second.expect(2)]);
  assert.deepEqual(
    [first.texts, second.texts],
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
  );
  await component.close();
};

const competing: Run = async (open) => {
  const [one, other, topic] = [await open(), await open(), newTopic()];
  const first = await Collector.join(one, { topic, maxInFlight: 5 }, acknowledge);
  const second = await Collector.join(other, { topic, maxInFlight: 5 }, acknowledge);
  await publishTexts(one, topic, numbers(100));
  await eventually('all 100 were delivered', () => first.texts.length + second.texts.length >= 100);
  await later(50);
  assert.deepEqual([...first.texts, ...second.texts].sort(), numbers(100).sort());
  await Promise.all([one.close(), other.close()]);
};

const acknowledged: Run = async (open) => {
  const topic = newTopic();
  const before = await open();
  await (await Collector.join(before, { topic }, acknowledge)).expect(0);
  const consumer = await Collector.join(before, { topic, group: 'other' }, acknowledge);
  await publishTexts(before, topic, ['a', 'b', 'c']);
  await consumer.expect(3);
  await before.close();
  const after = await open();
  await (await Collector.join(after, { topic, group: 'other' })).expect(0);
  await after.close();
};

const retried: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const settled: Delivery[] = [];
  const consumer = await Collector.join(component, { topic, maxInFlight: 1 }, (delivery) => {
    const fails = textOf(delivery) === 'poison' && delivery.attempt === 1;
    void (fails ? delivery.retry(150) : delivery.ack());
    if (!fails) settled.push(delivery);
  });
  await publishTexts(component, topic, ['poison', 'a', 'b']);
  await consumer.expect(4);
  assert.deepEqual(consumer.texts, ['poison', 'a', 'b', 'poison'], 'a retry must not hold up the others');
  assert.deepEqual(
    consumer.deliveries.map(({ attempt }) => attempt),
    [1, 1, 1, 2],
  );
  assert.ok((consumer.times[3] ?? 0) - (consumer.times[0] ?? 0) >= 145, 'the retry came before its delay was over');
  await component.close();
};

const ordered: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const consumer = await Collector.join(component, { topic, maxInFlight: 1, ordered: true }, (delivery) => {
    void (textOf(delivery) === '1' && delivery.attempt < 3 ? delivery.retry(20) : delivery.ack());
  });
  await publishTexts(component, topic, ['0', '1', '2', '3']);
  await consumer.expect(6);
  assert.deepEqual(consumer.texts, ['0', '1', '1', '1', '2', '3']);
  assert.deepEqual(
    consumer.deliveries.map(({ attempt }) => attempt),
    [1, 1, 2, 3, 1, 1],
  );
  await component.close();
};

const inOrder: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const consumer = await Collector.join(component, { topic, maxInFlight: 1 }, acknowledge);
  for (const text of numbers(50)) await publishTexts(component, topic, [text]);
  await publishTexts(component, topic, numbers(150).slice(50));
  await consumer.expect(150);
  assert.deepEqual(consumer.texts, numbers(150));
  await component.close();
};

const inFlightLimit: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const consumer = await Collector.join(component, { topic, maxInFlight: 3 });
  await publishTexts(component, topic, numbers(10));
  const [first] = await consumer.expect(3);
  await first?.ack();
  const deliveries = await consumer.expect(4);
  await Promise.all(deliveries.map((delivery) => delivery.ack()));
  await consumer.expect(7);
  await component.close();
};

const paused: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const consumer = await Collector.join(component, { topic, paused: true }, acknowledge);
  await publishTexts(component, topic, ['a', 'b']);
  await consumer.expect(0);
  consumer.subscription.resume();
  await consumer.expect(2);
  consumer.subscription.pause();
  await publishTexts(component, topic, ['c']);
  await consumer.expect(2);
  consumer.subscription.resume();
  await consumer.expect(3);
  await component.close();
};

const names: Run = async (open) => {
  const component = await open();
  const prefix = newTopic();
  // Not `*` at the end: that is a wildcard of some components.
  const odd = ['__proto__', 'constructor', 'a/b//c', 'grüße 🚀', '*.', '>', 'a.b', 'x'.repeat(300), ' '];
  const topicNames = [...odd.map((name) => prefix + name), prefix];
  const consumers = await Promise.all(
    topicNames.map((topic, index) => Collector.join(component, { topic, group: odd[index] ?? 'g' }, acknowledge)),
  );
  for (const topic of topicNames) await publishTexts(component, topic, [topic]);
  await Promise.all(consumers.map((consumer) => consumer.expect(1)));
  assert.deepEqual(
    consumers.map(({ texts }) => texts),
    topicNames.map((topic) => [topic]),
  );
  await component.close();
};

const content: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const metadata = JSON.parse('{"__proto__":"own","ttlInSeconds":"5","ümlaut":"ß"}') as Record<string, string>;
  const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b' };
  const bytes = Buffer.from([0, 255, 254, 10, 13, 0xc3, 0x28]);
  const sent = [
    textMessage(topic, '1', { data: bytes, metadata, trace, contentType: 'application/x-y; a="b"' }),
    textMessage(topic, '2', { data: Buffer.alloc(0), raw: false, expiresAt: 4_102_444_800_123 }),
  ];
  const consumer = await Collector.join(component, { topic, maxInFlight: 1 }, acknowledge);
  assert.deepEqual(await component.publish(sent), []);
  const got = (await consumer.expect(2)).map(({ message }) => message);
  for (const [index, message] of got.entries()) {
    const { data, metadata: gotMetadata, ...rest } = message;
    const { data: sentData, metadata: sentMetadata, ...sentRest } = sent[index] ?? textMessage(topic, '');
    assert.deepEqual(rest, sentRest);
    assert.deepEqual(Object.entries(gotMetadata), Object.entries(sentMetadata));
    assert.ok(Buffer.from(data).equals(sentData), 'the bytes differ');
  }
  await component.close();
};

const large: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const consumer = await Collector.join(component, { topic }, acknowledge);
  const data = Buffer.alloc(1024 * 1024, 'x');
  assert.deepEqual(await component.publish([textMessage(topic, '1', { data })]), []);
  const [delivery] = await consumer.expect(1);
  assert.ok(Buffer.from(delivery?.message.data ?? []).equals(data), 'the bytes differ');
  await component.close();
};

const origin: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const deadLetter = {
    topic: '__proto__',
    group: 'shop/grüße 🚀',
    reason: 'line 1\r\nline 2: "50 %"',
    attempts: 4,
    deadAt: Date.parse('2026-01-01T00:00:00Z'),
  };
  const bytes = Buffer.from([0, 255, 0x7b]);
  const consumer = await Collector.join(component, { topic, maxInFlight: 1 }, (delivery) => {
    void (delivery.message.id === 'id-1' && delivery.attempt === 1 ? delivery.retry(20) : delivery.ack());
  });
  assert.deepEqual(await component.publish([textMessage(topic, '1', { data: bytes, deadLetter })]), []);
  await consumer.expect(2);
  assert.deepEqual(await component.publish([textMessage(topic, '2')]), []);
  const got = (await consumer.expect(3)).map(({ message }) => message);
  assert.deepEqual(
    got.map((message) => message.deadLetter),
    [deadLetter, deadLetter, undefined],
  );
  assert.ok(Buffer.from(got[0]?.data ?? []).equals(bytes), 'the bytes differ');
  await component.close();
};

const manyAtOnce: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const consumer = await Collector.join(component, { topic }, acknowledge);
  await Promise.all(numbers(500).map((text) => publishTexts(component, topic, [text])));
  await consumer.expect(500);
  assert.deepEqual([...consumer.texts].sort(), numbers(500).sort());
  await component.close();
};

const settledTwice: Run = async (open) => {
  const [component, topic] = [await open(), newTopic()];
  const consumer = await Collector.join(component, { topic, maxInFlight: 1 });
  await publishTexts(component, topic, ['a', 'b', 'c']);
  const [first] = await consumer.expect(1);
  await first?.ack();
  await Promise.allSettled([first?.ack(), first?.retry(0)]);
  await consumer.expect(2);
  assert.deepEqual(consumer.texts, ['a', 'b']);
  await component.close();
};

/**
 * The behaviour required of every pub/sub component, for any test runner.
 *
 * @example
 * ```ts
 * for (const { name, run } of pubSubConformance) test(name, () => run(() => openMyComponent()));
 * ```
 * @public
 */
export const pubSubConformance: readonly PubSubCase[] = [
  { name: 'every group receives every message', needs: [], run: fanOut },
  { name: 'consumers of one group share its messages', needs: ['sharing'], run: competing },
  { name: 'an acknowledged message is never redelivered', needs: [], run: acknowledged },
  { name: 'a retry waits for its delay without blocking other messages', needs: [], run: retried },
  { name: 'an ordered subscription keeps its order across retries', needs: [], run: ordered },
  { name: 'one consumer receives in order of publication', needs: [], run: inOrder },
  { name: 'no more than maxInFlight messages are unsettled', needs: [], run: inFlightLimit },
  { name: 'a paused subscription collects messages but delivers none', needs: [], run: paused },
  { name: 'a message can be settled while paused', needs: [], run: settledAfterPause },
  { name: 'unsettled messages are redelivered after a close', needs: ['retention'], run: unsettled },
  { name: 'attempts keep counting after a close', needs: ['retention', 'attempts'], run: countedAttempts },
  { name: 'a group without consumers keeps published messages', needs: ['retention'], run: keptForGroup },
  { name: 'topics and groups may have any name', needs: ['anyName'], run: names },
  { name: 'bytes, metadata, trace and expiry are returned unchanged', needs: ['metadata'], run: content },
  { name: 'a message of 1 MiB is returned unchanged', needs: ['large'], run: large },
  { name: 'a dead letter keeps its origin', needs: ['deadLetter'], run: origin },
  { name: 'hundreds of concurrent publishes all arrive', needs: [], run: manyAtOnce },
  { name: 'settling twice changes nothing', needs: [], run: settledTwice },
  { name: 'close ends everything and may be called twice', needs: [], run: closing },
];
