import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { memoryState } from '../../src/components/memory/memory-store.ts';
import type { PubSubComponent } from '../../src/components/pubsub.ts';
import { loadRedis } from '../../src/components/redis/driver.ts';
import { Collector, publishTexts } from '../../src/kit/collector.ts';
import { systemClock } from '../../src/util/clock.ts';
import { RecordingLogger } from '../support/logger.ts';
import { hasRedis, startRedis } from '../support/servers.ts';
import { component, findingsOf, load, metadata, problemsOf } from './files.ts';

type Values = Readonly<Record<string, string>>;

const yamlOf = (values: Values): string => component('pubsub', 'pubsub.redis', metadata(values));

/** The error of a publish to a component for a server that there is not. */
async function failureOf(values: Values): Promise<string> {
  const opened = await open(values);
  const error = await opened
    .subscribe({ topic: 't', group: 'g', maxInFlight: 1, ordered: false, paused: false, deliver: () => {} })
    .catch((reason: Error) => reason);
  await opened.close();
  return error instanceof Error ? error.message : 'none';
}

async function open(values: Values): Promise<PubSubComponent> {
  const { options } = await load(yamlOf(values));
  const [definition] = options.components;
  if (definition === undefined || !('topics' in definition)) throw new Error('there is no pub/sub component');
  const [clock, logger] = [systemClock, new RecordingLogger()];
  const state = await memoryState().open({ clock, logger });
  return definition.open({ appId: 'orders', clock, logger, state, track: () => () => {} });
}

/** Publishes 500 messages to a topic with a group; returns the topic. */
async function publishMany(opened: PubSubComponent): Promise<string> {
  const topic = randomUUID();
  await Collector.join(opened, { topic, group: 'orders' });
  const texts = Array.from({ length: 100 }, () => 'a');
  for (let round = 0; round < 5; round++) await publishTexts(opened, topic, texts);
  return topic;
}

/** Nobody listens on this port. */
const NOBODY = '127.0.0.1:1';

describe('pubsub.redis', () => {
  test('is the component of that type, with its scopes', async () => {
    const { options, notes } = await load(yamlOf({ redisHost: 'broker:6379', allowedTopics: 'orders', RedisDb: '2' }));
    expect(options.components).toMatchObject([
      { name: 'pubsub', type: 'pubsub.redis', topics: { allowedTopics: ['orders'] } },
    ]);
    expect(notes).toEqual([]);
  });

  test.each<[Values, RegExp]>([
    [{ redisHost: NOBODY }, /127\.0\.0\.1:1$/],
    [{ redisHost: '127.0.0.1', redisPort: '1' }, /127\.0\.0\.1:1$/],
    [{ redisHost: NOBODY, redisType: 'cluster', redisDB: '3' }, /127\.0\.0\.1:1$/],
    [{ redisHost: NOBODY, failover: 'true', sentinelMasterName: 'mine' }, /127\.0\.0\.1:1$/],
  ])('%j leads to the server', async (values, message) => {
    expect(await failureOf(values)).toMatch(message);
  });

  test('names of Dapr without a use here are noted, and a 0 that would switch redelivery off', async () => {
    const ignored = { queueDepth: '100', concurrency: '10', poolSize: '20', idleTimeout: '5m', redisMaxRetries: '3' };
    const values = { redisHost: 'broker', processingTimeout: '0', redeliverInterval: '0s', ...ignored };
    const { problems, notes } = await findingsOf({ 'a.yaml': yamlOf(values) });
    const off = 'cannot switch redelivery off: messages of dead consumers are delivered again';
    expect({ problems, notes: notes.map((note) => note.replace(/^.*?\): /, '')) }).toEqual({
      problems: [],
      notes: [
        `pubsub.redis has no use for metadata ${Object.keys(ignored).join(', ')}`,
        `metadata processingTimeout ${off}`,
        `metadata redeliverInterval ${off}`,
      ],
    });
  });

  test.each<[Values, string]>([
    [{ enableTLS: 'false' }, 'pubsub.redis needs metadata redisHost'],
    [{ redisHost: 'broker', redisType: 'opensesame' }, 'metadata redisType must be "node" or "cluster"'],
    [{ redisHost: 'broker', useEntraID: 'true' }, 'metadata useEntraID: insidecar gets no access tokens of Entra ID'],
    [{ redisHost: 'broker', maxLenApprox: 'opensesame' }, 'metadata maxLenApprox must be a whole number of 0 or more'],
    [{ redisHost: 'broker', streamTTL: 'opensesame' }, 'metadata streamTTL must be a duration, such as "5s"'],
    [{ redisHost: 'broker', streamTTL: '9999999999999h' }, 'metadata streamTTL must be a duration'],
    [{ redisHost: 'broker', processingTimeout: 'opensesame' }, 'metadata processingTimeout must be a duration'],
    [{ redisHost: 'broker', redeliverInterval: 'opensesame' }, 'metadata redeliverInterval must be a duration'],
    [{ redisHost: 'broker', clientKey: 'opensesame' }, 'metadata clientCert and clientKey belong together'],
    [
      { redisHost: 'broker', clientCert: '-----BEGIN A', clientKey: '-----BEGIN opensesame' },
      'metadata clientCert and clientKey must be valid',
    ],
    [{ redisHost: 'broker', consumerId2: 'opensesame' }, 'pubsub.redis has no metadata "consumerId2"'],
  ])('refuses %j without its value', async (values, message) => {
    const problems = await problemsOf(yamlOf(values));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
    expect(problems[0]).not.toContain('opensesame');
  });

  test.runIf(hasRedis())('password, group, database and limits of a stream are those of the file', async () => {
    await using server = await startRedis(['--requirepass', 'opensesame']);
    const values = {
      redisHost: `127.0.0.1:${server.port}`,
      redisPassword: 'opensesame',
      redisDB: '1',
      consumerID: '{appID}-group',
      maxLenApprox: '100',
      processingTimeout: '60000',
      redeliverInterval: '15s',
      streamTTL: '24h',
    };
    const opened = await open(values);
    const topic = await publishMany(opened);
    const { createClient } = await loadRedis();
    const socket = { host: '127.0.0.1', port: server.port };
    const client = createClient({ socket, password: 'opensesame', database: 1 });
    await client.connect();
    expect(await client.sendCommand(['XLEN', topic])).toBeLessThan(300);
    expect(await client.sendCommand(['XGROUP', 'DESTROY', topic, 'orders-group'])).toBe(1);
    client.destroy();
    await opened.close();
  });

  test.runIf(hasRedis())('streamTTL without a unit is in milliseconds', async () => {
    await using server = await startRedis();
    const opened = await open({ redisHost: `127.0.0.1:${server.port}`, streamTTL: '1' });
    const topic = await publishMany(opened);
    const { createClient } = await loadRedis();
    const client = createClient({ socket: { host: '127.0.0.1', port: server.port } });
    await client.connect();
    expect(await client.sendCommand(['XLEN', topic])).toBeLessThan(300);
    client.destroy();
    await opened.close();
  });
});
