import { describe, expect, test } from 'vitest';
import { jetstreamPubSub } from '../../src/components/jetstream/index.ts';
import { kafkaPubSub } from '../../src/components/kafka/index.ts';
import { keyValueStore } from '../../src/components/key-value/index.ts';
import { memoryPubSub } from '../../src/components/memory/memory-pubsub.ts';
import { mqttPubSub } from '../../src/components/mqtt/index.ts';
import { postgresqlState, postgresqlStateStore } from '../../src/components/postgresql/index.ts';
import { rabbitmqPubSub } from '../../src/components/rabbitmq/index.ts';
import { redisPubSub, redisState } from '../../src/components/redis/index.ts';
import { sqliteStateStore } from '../../src/components/sqlite-file/index.ts';
import { durablePubSub } from '../../src/index.ts';

const url = 'redis://127.0.0.1';
const connection = 'postgresql://127.0.0.1/x';
const file = './x.db';

/** Makes a definition with one more option, as plain JavaScript may. */
type Make = (more: Readonly<Record<string, unknown>>) => unknown;

const OPTIONS: readonly (readonly [what: string, make: Make, names: readonly string[]])[] = [
  ['redisState', (more) => redisState({ url, ...more }), ['callTimeout', 'operationTimeout']],
  [
    'redisPubSub',
    (more) => redisPubSub('p', { url, ...more }),
    ['callTimeout', 'publishTimeout', 'processingTimeout', 'redeliverInterval', 'streamTtl'],
  ],
  ['postgresqlState', (more) => postgresqlState({ url: connection, ...more }), ['callTimeout', 'operationTimeout']],
  ['postgresqlStateStore', (more) => postgresqlStateStore('s', { url: connection, ...more }), ['cleanupInterval']],
  ['sqliteStateStore', (more) => sqliteStateStore('s', { file, ...more }), ['busyTimeout', 'cleanupInterval']],
  ['keyValueStore', (more) => keyValueStore('s', more), ['defaultTtl']],
  ['jetstreamPubSub', (more) => jetstreamPubSub('p', more), ['ackWait', 'publishTimeout']],
  ['createStream', (more) => jetstreamPubSub('p', { createStream: more }), ['maxAge']],
  ['mqttPubSub', (more) => mqttPubSub('p', { url: 'mqtt://x', ...more }), ['keepAlive']],
  ['rabbitmqPubSub', (more) => rabbitmqPubSub('p', more), ['heartbeat', 'maxReconnectDelay', 'messageTtl']],
  ['kafkaPubSub', (more) => kafkaPubSub('p', { brokers: ['x:1'], ...more }), ['sessionTimeout', 'heartbeatInterval']],
  ['deadLetterRetention', (more) => memoryPubSub('p', { deadLetterRetention: more }), ['maxAge']],
  ['deadLetterRetention', (more) => durablePubSub('p', { deadLetterRetention: more }), ['maxAge']],
];
const EACH = OPTIONS.flatMap(([what, make, names]) => names.map((name) => ({ what, make, name })));

describe('times in options of components', () => {
  test.each(EACH)('$what: $name is a duration', ({ make, name }) => {
    for (const value of ['3s', 'PT3S', 3_000, undefined]) expect(() => make({ [name]: value })).not.toThrow();
    for (const value of ['3 seconds', '', 'P1Y', -1, Number.NaN, Number.POSITIVE_INFINITY, true, null, {}])
      expect(() => make({ [name]: value })).toThrow(new RegExp(`${name}.* is .*: expected a duration: a number of`));
  });

  test.each(EACH)('$what: $name with Ms says its new name', ({ make, name }) => {
    expect(() => make({ [`${name}Ms`]: 3_000 })).toThrow(`unknown field "${name}Ms"`);
    expect(() => make({ [`${name}Ms`]: 3_000 })).toThrow(`; did you mean "${name}"?`);
  });
});
