import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acknowledge, Collector, publishTexts } from '../../../../src/kit/collector.ts';
import { numbers } from '../../../../src/kit/pubsub-case.ts';
import { until } from '../../../support/broker-world.ts';
import { redisCommand } from '../../../support/redis-groups.ts';
import { hasRedis, type OwnServer, startRedis } from '../../../support/servers.ts';
import { openPubSub } from './open-pubsub.ts';

const TOPICS = 300;

describe.runIf(hasRedis())('many topics in Redis', () => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await startRedis(['--appendfsync', 'everysec']);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const clients = async (): Promise<number> => {
    const list = String(await redisCommand(server.port, ['CLIENT', 'LIST']));
    // Without the connection that asks.
    return list.trim().split('\n').length - 1;
  };

  test('300 topics need two connections, and one that is not processed holds up none of the others', async () => {
    const prefix = `many-${randomUUID()}`;
    const topics = numbers(TOPICS).map((number) => `${prefix}-${number}`);
    const component = await openPubSub(server.port);
    const before = await clients();
    const stuck = await Collector.join(component, { topic: prefix, maxInFlight: 2 });
    const consumers = await Promise.all(topics.map((topic) => Collector.join(component, { topic }, acknowledge)));
    expect((await clients()) - before).toBeLessThanOrEqual(2);
    await publishTexts(component, prefix, numbers(1_000));
    for (const round of ['first', 'second']) {
      await Promise.all(topics.map((topic) => publishTexts(component, topic, [`${round}-1`, `${round}-2`])));
      await until('each topic got both', () =>
        consumers.every(({ texts }) => texts.filter((text) => text.startsWith(round)).length === 2),
      );
    }
    expect(consumers.every(({ deliveries }) => deliveries.length === 4)).toBe(true);
    expect(stuck.deliveries).toHaveLength(2);
    await component.close();
  }, 60_000);

  test('a group that nobody uses any more, or that could not be created, has no connection', async () => {
    const topic = `groups-${randomUUID()}`;
    const component = await openPubSub(server.port);
    await Collector.join(component, { topic });
    const before = await clients();
    await redisCommand(server.port, ['SET', `${topic}-text`, 'text']);
    for (const group of numbers(5)) {
      const [one, other] = [
        await Collector.join(component, { topic, group }),
        await Collector.join(component, { topic: `${topic}-2`, group }, acknowledge),
      ];
      await one.subscription.close();
      await publishTexts(component, `${topic}-2`, [group]);
      await until('it arrives', () => other.texts.includes(group));
      await other.subscription.close();
      await expect(Collector.join(component, { topic: `${topic}-text`, group })).rejects.toThrow('WRONGTYPE');
    }
    await until('the connections are closed', async () => (await clients()) === before);
    await component.close();
  });

  test('a component that is closed while it subscribes keeps no connection', async () => {
    const before = await clients();
    for (let turns = 0; turns < 8; turns++) {
      const component = await openPubSub(server.port);
      await publishTexts(component, 'closing', ['a']);
      const joined = Collector.join(component, { topic: 'closing' }).catch(() => undefined);
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      await component.close();
      await joined;
    }
    await until('the connections are closed', async () => (await clients()) === before);
  });

  test('a topic that is subscribed to while others are awaited is awaited, too', async () => {
    const topic = `late-${randomUUID()}`;
    const component = await openPubSub(server.port);
    const idle = await Collector.join(component, { topic: `${topic}-idle` });
    const tookMs: number[] = [];
    for (let at = 0; at < 20; at++) {
      const startedAt = performance.now();
      const late = await Collector.join(component, { topic: `${topic}-${at}` }, acknowledge);
      await publishTexts(component, `${topic}-${at}`, ['a']);
      await until('it arrives', () => late.deliveries.length === 1);
      tookMs.push(performance.now() - startedAt);
    }
    // Without an end of the read under way, each would have waited for about a second.
    expect(Math.min(...tookMs)).toBeLessThan(400);
    await idle.expect(0);
    await component.close();
  });
});
