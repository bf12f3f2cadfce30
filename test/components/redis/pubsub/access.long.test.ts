import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acknowledge, Collector, publishTexts } from '../../../../src/kit/collector.ts';
import { numbers } from '../../../../src/kit/pubsub-case.ts';
import { pubSubConformance } from '../../../../src/kit/pubsub-conformance.ts';
import { until } from '../../../support/broker-world.ts';
import { freePort } from '../../../support/http.ts';
import {
  holderOf,
  moveSlot,
  SENTINEL_NAME,
  startCluster,
  startClusterReplica,
  startReplica,
  startSentinels,
  untilPrimary,
} from '../../../support/redis-groups.ts';
import { hasRedis, type OwnServer, startRedis } from '../../../support/servers.ts';
import { TlsRedis } from '../../../support/tls-redis.ts';
import { openPubSub } from './open-pubsub.ts';

describe.runIf(hasRedis())('pub/sub in Redis with TLS and a user with few rights', () => {
  let redisServer: TlsRedis;
  beforeAll(async () => {
    redisServer = await TlsRedis.start('redis-streams.md', /`(~\* resetchannels [^`]*)`/);
    expect(redisServer.rules).toContain('+xadd');
    const optional = ['+client|unblock', '+eval', '+info', '+ping'];
    await redisServer.setUser(
      'less',
      redisServer.rules.filter((rule) => !optional.includes(rule)),
    );
  });
  afterAll(() => redisServer[Symbol.asyncDispose]());

  for (const { name, run } of pubSubConformance)
    test(name, () => run(() => openPubSub(0, { url: redisServer.url, tls: redisServer.certificates.trust })));

  test('without the rights that it can do without, messages of later topics arrive all the same', async () => {
    const component = await openPubSub(0, { url: `redis://less:secret@127.0.0.1:${redisServer.server.port}` });
    const topic = randomUUID();
    await Collector.join(component, { topic: `${topic}-idle` });
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await publishTexts(component, topic, ['a']);
    await consumer.expect(1);
    await component.close();
  });

  test('an unknown authority is refused', async () => {
    const component = await openPubSub(0, { url: redisServer.url });
    await expect(Collector.join(component, { topic: 't' })).rejects.toThrow('does not trust');
    await component.close();
  });
});

describe.runIf(hasRedis())('pub/sub in a cluster of Redis', { timeout: 60_000 }, () => {
  let nodes: readonly OwnServer[];
  beforeAll(async () => {
    nodes = await startCluster();
  }, 60_000);
  afterAll(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]();
  });
  const open = (): ReturnType<typeof openPubSub> =>
    openPubSub(0, { nodes: nodes.map(({ port }) => `127.0.0.1:${port}`), cluster: true });

  for (const { name, run } of pubSubConformance) test(name, () => run(open));

  test('topics on all nodes, and one whose slot moves to another node while it is used', async () => {
    const component = await open();
    const topics = numbers(30).map((number) => `cluster-${randomUUID()}-${number}`);
    const consumers = await Promise.all(topics.map((topic) => Collector.join(component, { topic }, acknowledge)));
    await Promise.all(topics.map((topic) => publishTexts(component, topic, ['a'])));
    await Promise.all(consumers.map((consumer) => consumer.expect(1)));
    const [moved = ''] = topics;
    const from = await holderOf(nodes, moved);
    const to = nodes.find((node) => node !== from);
    if (to === undefined) throw new Error('there is one node only');
    const moving = moveSlot(from, to, moved, () => publishTexts(component, moved, ['between']));
    for (const text of numbers(50)) await publishTexts(component, moved, [text]);
    await moving;
    await publishTexts(component, moved, ['last']);
    await until('all arrive', () => new Set(consumers[0]?.texts).size === 53);
    await component.close();
  });
});

test.runIf(hasRedis())(
  'the node that takes over in a cluster is used',
  async () => {
    const nodes = await startCluster();
    const topic = `failover-${randomUUID()}`;
    const holder = await holderOf(nodes, topic);
    const replica = await startClusterReplica(holder);
    try {
      const places = nodes.map(({ port }) => `127.0.0.1:${port}`);
      const component = await openPubSub(0, { nodes: places, cluster: true, publishTimeout: 40_000 });
      const consumer = await Collector.join(component, { topic }, acknowledge);
      await publishTexts(component, topic, ['a']);
      await consumer.expect(1);
      await holder.kill();
      await publishTexts(component, topic, ['b']);
      await until('it arrives', () => consumer.texts.includes('b'), 30_000);
      await component.close();
    } finally {
      for (const server of [replica, ...nodes]) await server[Symbol.asyncDispose]();
    }
  },
  120_000,
);

describe.runIf(hasRedis())('pub/sub in Redis behind sentinels', () => {
  test('the server that takes over is used', async () => {
    const primary = await startRedis();
    const replica = await startReplica(primary.port);
    const sentinels = await startSentinels(3, primary.port);
    try {
      const sentinelNodes = sentinels.map(({ port }) => `127.0.0.1:${port}`);
      const nodes = [`127.0.0.1:${await freePort()}`, ...sentinelNodes];
      const component = await openPubSub(0, { nodes, sentinelName: SENTINEL_NAME, publishTimeout: 30_000 });
      const topic = randomUUID();
      const consumer = await Collector.join(component, { topic }, acknowledge);
      await publishTexts(component, topic, ['a']);
      await consumer.expect(1);
      await primary.kill();
      const published = publishTexts(component, topic, ['b']);
      await untilPrimary(sentinels[0]?.port ?? 0, replica.port);
      await published;
      await until('it arrives', () => consumer.texts.includes('b'));
      await component.close();
    } finally {
      for (const server of [...sentinels, replica, primary]) await server[Symbol.asyncDispose]();
    }
  }, 90_000);
});
