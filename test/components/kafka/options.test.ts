import { expect, test } from 'vitest';
import { type KafkaPubSubOptions, kafkaPubSub } from '../../../src/components/kafka/index.ts';

const brokers = ['kafka-1.internal:9092', '[::1]'];
const token = (): string => 'token';

test.each<[KafkaPubSubOptions]>([
  [{ brokers }],
  [{ brokers, sessionTimeout: 1_000 }],
  [{ brokers, sasl: { mechanism: 'scram-sha-512', username: 'app', password: '' } }],
  [{ brokers, sasl: { mechanism: 'oauthbearer', token } }],
])('takes the options %j', (options) => {
  expect(kafkaPubSub('pubsub', options).type).toBe('pubsub.kafka');
});

test.each([
  [{}, 'brokers in options of kafkaPubSub "pubsub": expected addresses like "kafka.internal:9092"'],
  [{ brokers: [] }, 'at least one'],
  [{ brokers: ['kafka', 'kafka:one'] }, 'at least one, unlike brokers[1]'],
  [{ brokers, clientId: '' }, 'clientId in options of kafkaPubSub "pubsub" is "": expected a text that is not empty'],
  [{ brokers, initialOffset: 'first' }, 'initialOffset in options of kafkaPubSub "pubsub" is "first": expected one of'],
  [{ brokers, compression: 'zip' }, 'expected one of none, gzip, snappy, lz4, zstd'],
  [{ brokers, maxMessageBytes: 1_023 }, 'expected a whole number from 1024 to 2147483647'],
  [{ brokers, sessionTimeout: 999 }, ', of 1000 ms or more and 3600000 ms at most'],
  [{ brokers, heartbeatInterval: 99 }, ', of 100 ms or more and 1200000 ms at most'],
  [{ brokers, heartbeatInterval: 4_000 }, 'heartbeatInterval in options of kafkaPubSub "pubsub" is 4000: expected at'],
  [{ brokers, escapeHeaders: 'yes' }, 'expected true or false'],
  [{ brokers, excludeHeaders: '^x' }, 'expected a regular expression'],
  [
    { brokers, sasl: {} },
    'mechanism in sasl in options of kafkaPubSub "pubsub" is undefined: expected one of plain, scram',
  ],
  [{ brokers, sasl: { mechanism: 'plain', username: 'app' } }, 'password in sasl in options'],
  [
    { brokers, sasl: { mechanism: 'oauthbearer' } },
    'token in sasl in options of kafkaPubSub "pubsub": expected a function',
  ],
  [{ brokers, sasl: { mechanism: 'plain', user: 'app' } }, 'unknown field "user"'],
])('refuses the options %j', (options, problem) => {
  expect(() => kafkaPubSub('pubsub', options as KafkaPubSubOptions)).toThrow(problem);
});
