import { redisBinding } from '../components/redis/index.ts';
import { isApiError } from '../errors.ts';
import { BINDING_NAMES, commonMetadata } from './bindings.ts';
import { MetadataReader } from './metadata-reader.ts';
import { REDIS_CONNECTION_IGNORES, REDIS_CONNECTION_NAMES, redisConnection } from './redis-connection.ts';
import type { MakeStore } from './store-source.ts';

/** The metadata of a `bindings.redis`. */
export const redisBindingMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [...BINDING_NAMES, ...REDIS_CONNECTION_NAMES],
  ignores: [...REDIS_CONNECTION_IGNORES, 'concurrency', 'processingTimeout', 'queueDepth', 'redeliverInterval'],
};

/** Makes a `bindings.redis`. */
export const makeRedisBinding: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const common = commonMetadata(reader);
  const { connection, timeoutMs } = redisConnection(reader, source.type);
  if (reader.hasProblem) return undefined;
  const limit = timeoutMs === undefined ? {} : { callTimeout: timeoutMs };
  try {
    return redisBinding(source.name, { ...connection, ...common, ...limit });
  } catch (error) {
    if (!isApiError(error)) throw error;
    reader.problem('metadata clientCert and clientKey must be valid and belong together');
    return undefined;
  }
};
