import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { PubSubComponent } from '../../../../src/components/pubsub.ts';
import { loadRedis } from '../../../../src/components/redis/driver.ts';
import { acknowledge, Collector, publishTexts, textMessage } from '../../../../src/kit/collector.ts';
import { numbers } from '../../../../src/kit/pubsub-case.ts';
import { pause, until } from '../../../support/broker-world.ts';
import { freePort } from '../../../support/http.ts';
import { RecordingLogger } from '../../../support/logger.ts';
import { redisCommand, startReplica } from '../../../support/redis-groups.ts';
import { hasRedis, type OwnServer, startRedis } from '../../../support/servers.ts';
import { TcpProxy } from '../../../support/tcp-proxy.ts';
import { openPubSub, rawCommand } from './open-pubsub.ts';

/** The error of a publish, whichever way it comes. */
async function refusal(component: PubSubComponent, topic: string): Promise<string> {
  const failures = await component.publish([textMessage(topic, 'refused')]).catch((error: Error) => [{ error }]);
  return failures[0]?.error.message ?? 'accepted';
}

describe.runIf(hasRedis())('pub/sub in Redis, when something is wrong', () => {
  let server: OwnServer;
  let topic: string;
  beforeAll(async () => {
    // On a busy machine, the driver takes longer to load than an attempt to connect may.
    await loadRedis();
    server = await startRedis();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  beforeEach(() => {
    topic = `trouble-${randomUUID()}`;
  });
  const command = (...words: readonly string[]): Promise<unknown> => rawCommand(server.port, ...words);

  test('commands have no timers of their own, which cost more than they', async () => {
    const component = await openPubSub(server.port);
    const consumer = await Collector.join(component, { topic }, acknowledge);
    const timeout = vi.spyOn(AbortSignal, 'timeout');
    await publishTexts(component, topic, numbers(100));
    await consumer.expect(100);
    expect(timeout).not.toHaveBeenCalled();
    timeout.mockRestore();
    await component.close();
  });

  test.each([
    ['FLUSHALL', ['FLUSHALL']],
    ['DEL of the stream', ['DEL', 'TOPIC']],
    ['XGROUP DESTROY', ['XGROUP', 'DESTROY', 'TOPIC', 'app']],
  ])('%s while running: the group is created again, and messages arrive', async (_what, words) => {
    const logger = new RecordingLogger();
    const component = await openPubSub(server.port, {}, logger);
    const consumer = await Collector.join(component, { topic }, acknowledge);
    const other = await Collector.join(component, { topic: `${topic}-other` }, acknowledge);
    await publishTexts(component, topic, ['a']);
    await consumer.expect(1);
    await command(...words.map((word) => (word === 'TOPIC' ? topic : word)));
    await until('the group is there', async () => {
      const groups = await command('XINFO', 'GROUPS', topic).catch(() => []);
      return (groups as unknown[]).length > 0;
    });
    await publishTexts(component, topic, ['b']);
    await publishTexts(component, `${topic}-other`, ['c']);
    await until('they arrive', () => consumer.texts.includes('b') && other.texts.includes('c'));
    expect(logger.lines.map(({ message }) => message)).toContain(
      'the stream or its group was deleted, and is created again',
    );
    await component.close();
  });

  test('a topic whose key is something else is refused by name, and holds up no other', async () => {
    const component = await openPubSub(server.port);
    await command('SET', topic, 'text');
    expect(await refusal(component, topic)).toContain('WRONGTYPE');
    await expect(Collector.join(component, { topic })).rejects.toThrow('WRONGTYPE');
    const [one, other] = [`${topic}-one`, `${topic}-other`];
    const broken = await Collector.join(component, { topic: one });
    const consumer = await Collector.join(component, { topic: other }, acknowledge);
    await command('DEL', one);
    await command('SET', one, 'text');
    await pause(1_200);
    await publishTexts(component, other, ['a', 'b']);
    await consumer.expect(2);
    await broken.expect(0);
    await component.close();
  });

  test('a full Redis refuses publishes and gives out what it has; later it takes more', async () => {
    const component = await openPubSub(server.port);
    await publishTexts(component, topic, ['before']);
    await command('CONFIG', 'SET', 'maxmemory', '1');
    try {
      expect(await refusal(component, topic)).toMatch(/^Redis at 127\.0\.0\.1:\d+ takes no more: OOM /);
      const consumer = await Collector.join(component, { topic: `${topic}-new` }).catch(
        (error: Error) => error.message,
      );
      expect(consumer).toMatch(/OOM/);
    } finally {
      await command('CONFIG', 'SET', 'maxmemory', '0');
    }
    expect(await command('XLEN', topic)).toBe(1);
    await publishTexts(component, topic, ['after']);
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await consumer.expect(2);
    await component.close();
  });

  test('a wrong password is told at once, and not shown', async () => {
    await using locked = await startRedis(['--requirepass', 'right']);
    const component = await openPubSub(0, { url: `redis://:opensesame@127.0.0.1:${locked.port}` });
    const startedAt = performance.now();
    const message = await refusal(component, topic);
    expect(message).toMatch(/WRONGPASS/);
    expect(message).not.toContain('opensesame');
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    await expect(Collector.join(component, { topic })).rejects.toThrow('WRONGPASS');
    await component.close();
  });

  test('a time limit of less than a second does not cost a connection that answers', async () => {
    const component = await openPubSub(server.port, { callTimeout: 900 });
    const connections = async (): Promise<readonly (string | undefined)[]> => {
      const lines = String(await command('CLIENT', 'LIST')).split('\n');
      return lines
        .filter((line) => line.startsWith('id=') && !line.includes('cmd=client'))
        .map((line) => line.split(' ')[0]);
    };
    await publishTexts(component, topic, ['a']);
    const before = await connections();
    await pause(1_500);
    expect(await connections()).toEqual(before);
    expect(before).not.toEqual([]);
    await component.close();
  });

  test('a publish that waits for the server ends with the component', async () => {
    const component = await openPubSub(await freePort());
    const waiting = refusal(component, topic);
    await pause(100);
    await component.close();
    expect(await waiting).toMatch(/is closed$/);
  });

  test('a replica takes nothing and says so; once it is the primary, it does', async () => {
    await using replica = await startReplica(server.port);
    const component = await openPubSub(replica.port, { publishTimeout: 500 });
    expect(await refusal(component, topic)).toMatch(/did not confirm the message within 500 ms: .* is a replica, /);
    await expect(Collector.join(component, { topic })).rejects.toThrow('is a replica');
    await redisCommand(replica.port, ['REPLICAOF', 'NO', 'ONE']);
    await until('it takes messages', async () => (await refusal(component, topic)) === 'accepted');
    await component.close();
  });

  test('a primary that becomes a replica is left for the new primary', async () => {
    await using former = await startRedis();
    await using next = await startReplica(former.port);
    await using proxy = await TcpProxy.start(former.port);
    const component = await openPubSub(proxy.port);
    const consumer = await Collector.join(component, { topic }, acknowledge);
    await publishTexts(component, topic, ['a']);
    await consumer.expect(1);
    await redisCommand(next.port, ['REPLICAOF', 'NO', 'ONE']);
    proxy.target = next.port;
    await redisCommand(former.port, ['REPLICAOF', '127.0.0.1', String(await freePort())]);
    await publishTexts(component, topic, ['b']);
    await until('it arrives', () => consumer.texts.includes('b'));
    expect(await redisCommand(next.port, ['XLEN', topic])).toBe(2);
    await component.close();
  });

  test('a primary that becomes a replica while nothing is awaited keeps no connection', async () => {
    await using former = await startRedis();
    await using next = await startReplica(former.port);
    await using proxy = await TcpProxy.start(former.port);
    const component = await openPubSub(proxy.port);
    const consumer = await Collector.join(component, { topic, paused: true }, acknowledge);
    await redisCommand(next.port, ['REPLICAOF', 'NO', 'ONE']);
    proxy.target = next.port;
    await redisCommand(former.port, ['REPLICAOF', '127.0.0.1', String(await freePort())]);
    consumer.subscription.resume();
    await publishTexts(component, topic, ['a']);
    await until('it arrives', () => consumer.texts.includes('a'));
    await until('the former primary is left', async () => {
      const clients = String(await redisCommand(former.port, ['CLIENT', 'LIST'])).trim();
      return !clients.includes('\n');
    });
    await component.close();
  });

  test('a message whose delivery was lost with a connection is delivered, before later ones', async () => {
    await using proxy = await TcpProxy.start(server.port);
    const [component, publisher] = [await openPubSub(proxy.port), await openPubSub(server.port)];
    const consumer = await Collector.join(component, { topic, maxInFlight: 1, ordered: true }, acknowledge);
    await publishTexts(publisher, topic, ['a']);
    await consumer.expect(1);
    proxy.answersLeft = 0;
    await publishTexts(publisher, topic, ['b', 'c']);
    await until('Redis has given it out', async () => {
      const [pending] = (await command('XPENDING', topic, 'app')) as [number];
      return pending === 1;
    });
    proxy.cut();
    proxy.answersLeft = Number.POSITIVE_INFINITY;
    await consumer.expect(3);
    expect(consumer.texts).toEqual(['a', 'b', 'c']);
    expect(consumer.deliveries.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    await Promise.all([component.close(), publisher.close()]);
  });

  test('an acknowledgement that was lost with a connection is sent again', async () => {
    await using proxy = await TcpProxy.start(server.port);
    const component = await openPubSub(proxy.port);
    const consumer = await Collector.join(component, { topic });
    await publishTexts(component, topic, ['a']);
    const [delivery] = await consumer.expect(1);
    proxy.isBlackHole = true;
    const acknowledged = delivery?.ack();
    await pause(100);
    proxy.cut();
    proxy.isBlackHole = false;
    await acknowledged;
    expect(((await command('XPENDING', topic, 'app')) as [number])[0]).toBe(0);
    await consumer.expect(1);
    await component.close();
  });

  test('an acknowledgement that Redis refuses because it cannot write to its disk is sent again', async () => {
    await using own = await startRedis(['--enable-protected-configs', 'yes']);
    const component = await openPubSub(own.port);
    const consumer = await Collector.join(component, { topic });
    await publishTexts(component, topic, ['a']);
    const [delivery] = await consumer.expect(1);
    const ask = (...words: readonly string[]): Promise<unknown> => rawCommand(own.port, ...words);
    // Nobody can make files there.
    await ask('CONFIG', 'SET', 'dir', '/proc', 'save', '3600 1');
    await ask('BGSAVE');
    await until('it refuses', async () => (await refusal(component, `${topic}-other`)).includes('MISCONF'));
    const acknowledged = delivery?.ack();
    await consumer.expect(1);
    await ask('CONFIG', 'SET', 'save', '');
    await acknowledged;
    const [pending] = (await ask('XPENDING', topic, 'app')) as [number];
    expect([pending, consumer.texts]).toEqual([0, ['a']]);
    await component.close();
  });

  test('a server that stood still for longer than dead consumers may: nobody takes over from the living', async () => {
    await using own = await startRedis();
    // The connections outlast it, so that all that was asked meanwhile is answered at once.
    const options = { callTimeout: 30_000 };
    const [one, other] = [await openPubSub(own.port, options), await openPubSub(own.port, options)];
    const join = (component: PubSubComponent): Promise<Collector> =>
      Collector.join(component, { topic, maxInFlight: 2 });
    const consumers = [await join(one), await join(other)];
    const pending = async (): Promise<unknown[]> => {
      const found = (await rawCommand(own.port, 'XINFO', 'CONSUMERS', topic, 'app')) as unknown[][];
      return found.map((fields) => fields[3]);
    };
    await publishTexts(one, topic, numbers(8));
    await until('each has four', async () => String(await pending()) === '4,4');
    // Now each has room for more.
    for (const { deliveries } of consumers) await deliveries[0]?.ack();
    own.signal('SIGSTOP');
    await pause(7_000);
    own.signal('SIGCONT');
    await pause(5_000);
    expect(await pending()).toEqual([3, 3]);
    await Promise.all([one.close(), other.close()]);
  });
});
