import { durableLocks, memoryLocks } from '../components/key-value/locks.ts';
import { KEY_SEPARATOR } from '../components/key-value-options.ts';
import type { LockStoreOptions } from '../components/lock-store.ts';
import { postgresqlLocks } from '../components/postgresql/index.ts';
import { TABLE_NAME_FORM } from '../components/postgresql/table-name.ts';
import { redisLocks } from '../components/redis/index.ts';
import { isApiError } from '../errors.ts';
import { DAY_MS, MetadataReader } from './metadata-reader.ts';
import { POSTGRESQL_CONNECTION_NAMES, postgresqlConnection } from './postgresql-connection.ts';
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
  if (options === undefined) return undefined;
  const locks = memoryLocks(source.name, options);
  return { ...locks, onState: () => ({ ...durableLocks(source.name, options), type: locks.type }) };
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

/** The metadata of a `lock.postgresql`. */
export const postgresqlLockMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  uses: [...LOCK_NAMES, ...POSTGRESQL_CONNECTION_NAMES, 'tableName', 'timeout', 'timeoutInSeconds'],
  ignores: ['connectionMaxIdleTime', 'maxConns', 'queryExecMode', 'cleanupInterval'],
};

const TIME_LIMIT = { unitMs: 1_000, maxMs: DAY_MS } as const;

/** Makes a `lock.postgresql`. */
export const makePostgresqlLocks: MakeStore = (source) => {
  const options = lockOptions(source);
  const reader = new MetadataReader(source);
  const connection = postgresqlConnection(reader, source.type);
  const callTimeout = reader.durationMs('timeout', TIME_LIMIT) || reader.durationMs('timeoutInSeconds', TIME_LIMIT);
  if (reader.hasProblem || options === undefined || connection === undefined) return undefined;
  const given = { ...options, ...reader.texts({ table: 'tableName' }), ...(callTimeout ? { callTimeout } : {}) };
  try {
    return postgresqlLocks(source.name, { url: connection, ...given });
  } catch (error) {
    if (!isApiError(error)) throw error;
    reader.problem(`metadata tableName must be ${TABLE_NAME_FORM}`);
    return undefined;
  }
};

/** The options of the locks API for a store; `undefined` if there is a problem. */
function lockOptions(source: StoreSource): LockStoreOptions | undefined {
  const reader = new MetadataReader(source);
  const keyPrefix = reader.text('keyPrefix');
  if (keyPrefix?.includes(KEY_SEPARATOR) === true)
    reader.problem(`metadata keyPrefix must be a word without ${KEY_SEPARATOR}`);
  if (reader.hasProblem) return undefined;
  return keyPrefix === undefined ? {} : { keyPrefix };
}
