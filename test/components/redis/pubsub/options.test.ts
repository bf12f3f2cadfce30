import { expect, test } from 'vitest';
import { type RedisPubSubOptions, redisPubSub } from '../../../../src/components/redis/index.ts';

const url = 'redis://broker';
const what = 'in options of redisPubSub "pubsub"';

test.each<[object, string]>([
  [{}, 'redisPubSub "pubsub" needs either url or nodes'],
  [{ url, nodes: ['a'] }, 'redisPubSub "pubsub" needs either url or nodes'],
  [{ url: 'redis://broker/one' }, 'The url of redisPubSub "pubsub" must be like "redis://user:password@host:6379/0"'],
  [{ nodes: 'a:1' }, `nodes ${what}: expected a list of one or more texts`],
  [{ nodes: [] }, `nodes ${what}: expected a list of one or more texts`],
  [{ nodes: ['a:b'] }, 'nodes[0] of redisPubSub "pubsub" must be like "host:6379"'],
  [{ url, cluster: 'yes' }, `cluster ${what} is "yes": expected true or false`],
  [{ url, database: -1 }, `database ${what} is -1: expected a whole number of 0 or more`],
  [{ url, consumerId: '' }, `consumerId ${what} is "": expected a text that is not empty`],
  [{ url, trimAcknowledged: 1 }, `trimAcknowledged ${what} is 1: expected true or false`],
  [{ url, maxLenApprox: 0 }, `maxLenApprox ${what} is 0: expected a whole number of 1 or more`],
  [{ url, streamTtl: 0.5 }, `streamTtl ${what} is 0.5: expected a duration: a number of milliseconds`],
  [{ url, stream: 'x' }, 'options of redisPubSub "pubsub": unknown field "stream"'],
])('refuses the options %j', (options, problem) => {
  expect(() => redisPubSub('pubsub', options as RedisPubSubOptions)).toThrow(problem);
});

test('names a wrong node without its password', () => {
  const nodes = ['redis-1.internal', 'redis://app:opensesame@redis-2.internal:6379'];
  expect(() => redisPubSub('pubsub', { nodes, cluster: true })).toThrow(
    /^nodes\[1\] of redisPubSub "pubsub" must be like "host:6379"\.$/,
  );
});
