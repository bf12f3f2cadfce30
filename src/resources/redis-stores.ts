import type { AnyStoreDefinition } from '../components/any-component.ts';
import type { RedisConnectionOptions } from '../components/redis/index.ts';
import { isApiError } from '../errors.ts';
import { MetadataReader } from './metadata-reader.ts';
import { redisConnection } from './redis-connection.ts';
import type { StoreSource } from './store-source.ts';

/** A connection to Redis with its time limit. */
interface Connected extends RedisConnectionOptions {
  readonly callTimeoutMs?: number;
}

/** Makes a store on one Redis server from the metadata of its connection; `undefined` if there is a problem. */
export function redisStore<Definition extends AnyStoreDefinition>(
  source: StoreSource,
  make: (connection: Connected) => Definition,
): Definition | undefined {
  const reader = new MetadataReader(source);
  const { connection, timeoutMs } = redisConnection(reader, source.type);
  if (connection.cluster === true) reader.problem(`${source.type} cannot use a cluster: expected redisType "node"`);
  if (reader.hasProblem) return undefined;
  try {
    return make({ ...connection, ...(timeoutMs === undefined ? {} : { callTimeout: timeoutMs }) });
  } catch (error) {
    if (!isApiError(error)) throw error;
    reader.problem('metadata clientCert and clientKey must be valid and belong together');
    return undefined;
  }
}
