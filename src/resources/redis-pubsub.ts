import { type RedisPubSubOptions, redisPubSub } from '../components/redis/index.ts';
import { isApiError } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import type { MakeBrokerPubSub } from './broker-pubsub.ts';
import { MetadataReader } from './metadata-reader.ts';
import {
  REDIS_CONNECTION_IGNORES,
  REDIS_CONNECTION_NAMES,
  REDIS_DURATION,
  redisConnection,
} from './redis-connection.ts';
import { TOPIC_SCOPE_NAMES } from './topic-scopes.ts';

/** The metadata names of a `pubsub.redis`: those that it uses, and those of Dapr's without a use here. */
export const redisPubSubMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [
    ...TOPIC_SCOPE_NAMES,
    ...REDIS_CONNECTION_NAMES,
    'consumerID',
    'processingTimeout',
    'redeliverInterval',
    'maxLenApprox',
    'streamTTL',
    'trimAcknowledged',
  ],
  // The number of messages in a fetch follows the subscription's concurrency.
  ignores: [...REDIS_CONNECTION_IGNORES, 'queueDepth', 'concurrency', 'keyPrefix', 'queryIndexes', 'ttlInSeconds'],
};

/** Makes a `pubsub.redis`. */
export const makeRedisPubSub: MakeBrokerPubSub = (resource) => {
  const reader = new MetadataReader(resource);
  const { connection, timeoutMs } = redisConnection(reader, 'pubsub.redis');
  // The cast is safe: what is undefined is left out.
  const given = definedOnly({
    consumerId: reader.text('consumerID'),
    processingTimeout: redelivery(reader, 'processingTimeout'),
    redeliverInterval: redelivery(reader, 'redeliverInterval'),
    maxLenApprox: reader.number('maxLenApprox'),
    streamTtl: reader.durationMs('streamTTL', REDIS_DURATION) || undefined,
    callTimeout: timeoutMs,
    trimAcknowledged: reader.flag('trimAcknowledged'),
  }) as Partial<RedisPubSubOptions>;
  if (reader.hasProblem) return undefined;
  try {
    return redisPubSub(resource.name, { ...connection, ...resource.topics, ...given });
  } catch (error) {
    if (!isApiError(error)) throw error;
    reader.problem('metadata clientCert and clientKey must be valid and belong together');
    return undefined;
  }
};

/** Dapr takes nothing over with 0, so that messages of a dead process stay where they are. */
function redelivery(reader: MetadataReader, name: string): number | undefined {
  const ms = reader.durationMs(name, REDIS_DURATION);
  if (ms === 0)
    reader.note(`metadata ${name} cannot switch redelivery off: messages of dead consumers are delivered again`);
  return ms || undefined;
}
