import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { acknowledge, Collector, publishTexts } from '../../../../src/kit/collector.ts';
import { numbers } from '../../../../src/kit/pubsub-case.ts';
import { pause, until } from '../../../support/broker-world.ts';
import { hasSharedRedis, sharedRedis } from '../given-redis.ts';
import { openPubSub, rawCommand } from './open-pubsub.ts';

describe.runIf(hasSharedRedis())('consumers and streams in Redis', () => {
  let server: Awaited<ReturnType<typeof sharedRedis>>;
  let topic: string;
  beforeAll(async () => {
    server = await sharedRedis();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  beforeEach(() => {
    topic = `consumers-${randomUUID()}`;
  });
  const command = (...words: readonly string[]): Promise<unknown> => rawCommand(server.port, ...words);
  const consumers = async (): Promise<string[]> =>
    ((await command('XINFO', 'CONSUMERS', topic, 'app')) as unknown[][]).map((fields) => String(fields[1])).sort();

  test('the messages of a dead consumer come with the number of their deliveries, and it is removed', async () => {
    await command('XGROUP', 'CREATE', topic, 'app', '0', 'MKSTREAM');
    for (const text of ['a', 'b']) await command('XADD', topic, '*', 'data', text);
    await command('XREADGROUP', 'GROUP', 'app', 'insidecar-dead', 'STREAMS', topic, '>');
    const [[first]] = (await command('XPENDING', topic, 'app', '-', '+', '1')) as [[string]];
    await command('XCLAIM', topic, 'app', 'insidecar-dead', '0', first, 'RETRYCOUNT', '7', 'JUSTID');
    const component = await openPubSub(server.port);
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await until('they are taken over', () => consumer.deliveries.length === 2, 9_000);
    expect(consumer.texts).toEqual(['a', 'b']);
    expect(consumer.deliveries.map(({ attempt }) => attempt)).toEqual([8, 2]);
    await until('it is removed', async () => !(await consumers()).includes('insidecar-dead'));
    await component.close();
  });

  test('more than fits into the window is taken over step by step, by all processes, each message once', async () => {
    await command('XGROUP', 'CREATE', topic, 'app', '0', 'MKSTREAM');
    const publisher = await openPubSub(server.port);
    await publishTexts(publisher, topic, numbers(500));
    await command('XREADGROUP', 'GROUP', 'app', 'insidecar-dead', 'STREAMS', topic, '>');
    const [one, other] = [await openPubSub(server.port), await openPubSub(server.port)];
    const options = { topic, maxInFlight: 5 };
    const all = await Promise.all([one, other].map((component) => Collector.join(component, options, acknowledge)));
    const texts = (): string[] => all.flatMap((consumer) => consumer.texts);
    await until('all are taken over', () => texts().length >= 500);
    await pause(500);
    expect(texts().sort()).toEqual(numbers(500).sort());
    await Promise.all([publisher, one, other].map((component) => component.close()));
  });

  test('how often a message was delivered is in Redis while it waits for its retry', async () => {
    const component = await openPubSub(server.port);
    const consumer = await Collector.join(component, { topic }, (delivery) => {
      void delivery.retry(delivery.attempt < 3 ? 0 : 60_000);
    });
    await publishTexts(component, topic, ['a']);
    await consumer.expect(3);
    await until('it is there', async () => {
      const [entry] = (await command('XPENDING', topic, 'app', '-', '+', '1')) as unknown[][];
      return entry?.[3] === 3;
    });
    await component.close();
  });

  test('a consumer that ends in order leaves no trace but what it has returned', async () => {
    const component = await openPubSub(server.port);
    const consumer = await Collector.join(component, { topic, maxInFlight: 1 });
    await publishTexts(component, topic, ['a', 'b', 'c']);
    await consumer.expect(1);
    await component.close();
    expect(await consumers()).toEqual(['insidecar-returned']);
    const next = await openPubSub(server.port);
    const again = await Collector.join(next, { topic, maxInFlight: 1 }, acknowledge);
    await again.expect(3);
    expect(again.texts).toEqual(['a', 'b', 'c']);
    expect(again.deliveries.map(({ attempt }) => attempt)).toEqual([2, 1, 1]);
    await next.close();
  });

  test('a paused consumer is no dead one', async () => {
    const [one, other] = [await openPubSub(server.port), await openPubSub(server.port)];
    const first = await Collector.join(one, { topic });
    await publishTexts(one, topic, ['a']);
    await first.expect(1);
    first.subscription.pause();
    const second = await Collector.join(other, { topic });
    await pause(7_500);
    await second.expect(0);
    await Promise.all([one.close(), other.close()]);
  });

  test('trimAcknowledged deletes what all groups have acknowledged, and nothing else', async () => {
    const component = await openPubSub(server.port, { trimAcknowledged: true });
    const fast = await Collector.join(component, { topic, group: 'fast' }, acknowledge);
    const slow = await Collector.join(component, { topic, group: 'slow' }, (delivery) => {
      if (Number(delivery.message.id.slice(3)) < 60) void delivery.ack();
    });
    await publishTexts(component, topic, numbers(100));
    await Promise.all([fast.expect(100), slow.expect(100)]);
    await until('the stream is trimmed', async () => (await command('XLEN', topic)) === 40, 15_000);
    await Promise.all(slow.deliveries.map((delivery) => delivery.ack()));
    // The last entry stays.
    await until('the stream is trimmed', async () => (await command('XLEN', topic)) === 1, 15_000);
    await component.close();
  });

  test('maxLenApprox and streamTtl delete old messages with a publish', async () => {
    const bounded = await openPubSub(server.port, { maxLenApprox: 100 });
    for (let round = 0; round < 10; round++) await publishTexts(bounded, topic, numbers(100));
    expect(await command('XLEN', topic)).toBeLessThan(300);
    await bounded.close();
    const fresh = await openPubSub(server.port, { streamTtl: 300 });
    await publishTexts(fresh, `${topic}-ttl`, numbers(500));
    await pause(400);
    await publishTexts(fresh, `${topic}-ttl`, ['last']);
    expect(await command('XLEN', `${topic}-ttl`)).toBeLessThan(150);
    await fresh.close();
  });

  test('consumerId is the group, also of named ones', async () => {
    const component = await openPubSub(server.port, { consumerId: 'shop' });
    for (const group of ['orders', 'orders/audit', 'other']) await Collector.join(component, { topic, group });
    const groups = (await command('XINFO', 'GROUPS', topic)) as unknown[][];
    expect(groups.map((fields) => fields[1]).sort()).toEqual(['other', 'shop', 'shop/audit']);
    await component.close();
  });
});
