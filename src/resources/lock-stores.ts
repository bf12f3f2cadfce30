import { durableLocks, memoryLocks } from '../components/key-value/locks.ts';
import { KEY_SEPARATOR } from '../components/key-value-options.ts';
import type { LockStoreOptions } from '../components/lock-store.ts';
import { redisLocks } from '../components/redis/index.ts';
import { MetadataReader } from './metadata-reader.ts';
import { REDIS_CONNECTION_IGNORES, REDIS_CONNECTION_NAMES } from './redis-connection.ts';
import { redisStore } from './redis-stores.ts';
import type { MakeStore, StoreSource } from './store-source.ts';

/** The metadata of every lock store. */
export const LOCK_NAMES: readonly string[] = ['keyPrefix'];

/** The metadata of a `lock.redis`. */
export const redisLockMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [...LOCK_NAMES, ...REDIS_CONNECTION_NAMES],
  ignores: [...REDIS_CONNECTION_IGNORES, 'concurrency', 'processingTimeout', 'queueDepth', 'redeliverInterval'],
};

/** Makes a `lock.in-memory`. */
export const makeMemoryLocks: MakeStore = (source) => {
  const options = lockOptions(source);
  return options && memoryLocks(source.name, options);
};

/** Makes a `lock.sqlite`: it is kept in the sidecar's own state. */
export const makeDurableLocks: MakeStore = (source) => {
  const options = lockOptions(source);
  return options && { ...durableLocks(source.name, options), type: source.type };
};

/** Makes a `lock.redis`. */
export const makeRedisLocks: MakeStore = (source) => {
  const options = lockOptions(source);
  return options && redisStore(source, (connection) => redisLocks(source.name, { ...connection, ...options }));
};

/** What the lock API does with a store; `undefined` if there is a problem. */
export function lockOptions(source: StoreSource): LockStoreOptions | undefined {
  const reader = new MetadataReader(source);
  const keyPrefix = reader.text('keyPrefix');
  if (keyPrefix?.includes(KEY_SEPARATOR) === true)
    reader.problem(`metadata keyPrefix must be a word without ${KEY_SEPARATOR}`);
  if (reader.hasProblem) return undefined;
  return keyPrefix === undefined ? {} : { keyPrefix };
}
