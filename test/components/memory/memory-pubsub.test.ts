import { describe, expect, test } from 'vitest';
import { memoryPubSub } from '../../../src/components/memory/memory-pubsub.ts';
import { memoryState } from '../../../src/components/memory/memory-store.ts';
import type { Message, PubSubComponent } from '../../../src/components/pubsub.ts';
import { acknowledge, Collector, later, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { pubSubConformance } from '../../../src/kit/pubsub-conformance.ts';
import { systemClock } from '../../../src/util/clock.ts';
import type { Logger } from '../../../src/util/logger.ts';

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function opener(options: Parameters<typeof memoryPubSub>[1] = {}, logger = silent): () => Promise<PubSubComponent> {
  const definition = memoryPubSub('pubsub', options);
  return async () => {
    const state = await memoryState().open({ clock: systemClock, logger });
    return definition.open({ appId: 'orders', clock: systemClock, logger, state, track: () => () => {} });
  };
}

describe('memory pub/sub: conformance', () => {
  for (const { name, run } of pubSubConformance) test(name, () => run(opener()));
});

describe('memory pub/sub: limits', () => {
  test('refuses a publish when maxMessages are held, and takes more when some are settled', async () => {
    const component = await opener({ maxMessages: 2 })();
    const consumer = await Collector.join(component, { topic: 't' });
    await publishTexts(component, 't', ['a', 'b']);
    const [failure] = await component.publish([textMessage('t', 'c')]);
    expect(failure?.error.message).toContain('the queue in memory is full: 2 messages of 2');
    const [first] = await consumer.expect(2);
    await first?.ack();
    await publishTexts(component, 't', ['d']);
    await component.close();
  });

  test('refuses a publish when maxBytes are held', async () => {
    const component = await opener({ maxBytes: 10 })();
    await Collector.join(component, { topic: 't' });
    await publishTexts(component, 't', ['12345678']);
    expect(await component.publish([textMessage('t', '123'), textMessage('t', '12')])).toMatchObject([{ index: 0 }]);
    await component.close();
  });

  test('drops groups without consumers with a warning rather than refusing a publish', async () => {
    const warnings: object[] = [];
    const component = await opener(
      { maxMessages: 3 },
      { ...silent, warn: (details: object) => void warnings.push(details) },
    )();
    const abandoned = await Collector.join(component, { topic: 't', group: 'abandoned' });
    await abandoned.subscription.close();
    const consumer = await Collector.join(component, { topic: 't' }, acknowledge);
    for (const text of ['a', 'b', 'c', 'd', 'e', 'f']) await publishTexts(component, 't', [text]);
    await consumer.expect(6);
    expect(warnings).toMatchObject([{ topic: 't', group: 'abandoned' }]);
    await component.close();
  });

  test('holds nothing of a topic without groups', async () => {
    const component = await opener({ maxMessages: 1 })();
    for (let count = 0; count < 10; count++)
      await expect(publishTexts(component, 'nobody', ['x'])).resolves.toBeUndefined();
    await component.close();
  });
});

describe('memory pub/sub: kept dead letters', () => {
  const origin = (deadAt: number): NonNullable<Message['deadLetter']> => ({
    ...{ topic: 't', group: 'orders', reason: 'declined', attempts: 1, deadAt },
  });

  test('a dead letter above the limit does not look at all that are kept', async () => {
    const component = await opener({ deadLetterRetention: { maxMessages: 1_000 } })();
    let reads = 0;
    for (const text of Array.from({ length: 2_000 }, (_, at) => String(at))) {
      const get = (): object => {
        reads++;
        return origin(0);
      };
      await component.publish([Object.defineProperty(textMessage('dead', text), 'deadLetter', { get })]);
    }
    expect(reads).toBeLessThan(10_000);
    const [status] = (await component.queues?.status('dead')) ?? [];
    expect([status?.ready, Buffer.from(status?.first?.data ?? []).toString()]).toEqual([1_000, '1000']);
    await component.close();
  });

  test('an ordinary message at the head does not keep old dead letters', async () => {
    const component = await opener({ deadLetterRetention: { maxAge: 3_600_000 } })();
    const now = systemClock.now();
    await component.publish([textMessage('dead', 'first', { deadLetter: origin(now) })]);
    await component.publish([textMessage('dead', 'ordinary')]);
    await component.queues?.discard({ topic: 'dead', group: 'orders' }, { matches: ({ key }) => key === '1' });
    const old = systemClock.now() - 7_200_000;
    await later(1_100);
    await component.publish([textMessage('dead', 'old', { deadLetter: origin(old) })]);
    const page = await component.queues?.read({ topic: 'dead', group: 'orders' }, { limit: 10 });
    expect(page?.entries.map(({ message }) => message.id)).toEqual(['id-ordinary']);
    await component.close();
  });
});
