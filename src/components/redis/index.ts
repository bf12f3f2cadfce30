/**
 * State and pub/sub in Redis or Valkey.
 *
 * @packageDocumentation
 */

import type { StateDefinition } from '../../state/store.ts';
import type { Duration } from '../../util/duration.ts';
import { checkOptions, field, type OptionFields } from '../../util/option-fields.ts';
import type { StateCall } from '../remote/observed-server.ts';
import { openRemoteStore, placeOf } from '../remote/remote-store.ts';
import { REMOTE_STORE_FIELDS, timeoutsOf } from '../remote/store-options.ts';
import { RedisServer } from './redis-server.ts';
import { DEFAULT_PREFIX } from './state-keys.ts';
import { CONNECTION_FIELDS, type RedisConnectionOptions, targetOf } from './target.ts';

/** Options of {@link redisState}. @public */
export interface RedisOptions extends RedisConnectionOptions {
  /** The prefix of all keys, in braces; sidecars that share it share state. Default `insidecar`. */
  readonly prefix?: string | undefined;
  /**
   * `'synced'` refuses a server that does not sync each commit (`appendonly yes`, `appendfsync always`,
   * `no-appendfsync-on-rewrite no`); `'server'` accepts its settings. Default: `'server'`.
   */
  readonly durability?: 'synced' | 'server' | undefined;
  /** The time limit of one call to the server. Default `5s`. */
  readonly callTimeout?: Duration | undefined;
  /** The time limit of a read or a commit, with reconnections. Default `10s`. */
  readonly operationTimeout?: Duration | undefined;
  /**
   * Called after each call of the server, for metrics. It must not take long; what it throws is logged once. Default:
   * none.
   */
  readonly onCall?: ((call: StateCall) => void) | undefined;
}

export { type RedisConfigurationOptions, redisConfiguration } from './configuration/redis-configuration.ts';
export { type RedisStateStoreOptions, redisStateStore } from './kv/redis-state-store.ts';
export { type RedisPubSubOptions, redisPubSub } from './pubsub/redis-pubsub.ts';
export { type RedisBindingOptions, redisBinding } from './redis-binding.ts';
export { type RedisLocksOptions, redisLocks } from './redis-locks.ts';
export type { RedisConnectionOptions };

const FIELDS: OptionFields<RedisOptions> = {
  ...CONNECTION_FIELDS,
  ...REMOTE_STORE_FIELDS,
  prefix: field((value) => typeof value === 'string' && value !== '' && !/[{}\0]/.test(value), 'a name without braces'),
};

/**
 * State in Redis 6.2 or later, or Valkey, for sidecars on several machines. Needs the package `redis` 6. The server's
 * persistence decides how much a crash of the server can lose: nothing with `appendonly yes` and `appendfsync always`.
 * Its `maxmemory-policy` must be `noeviction`.
 *
 * Replication is asynchronous. A failover can lose acknowledged commits, and during a network split two hosts may both
 * own a shard. Keep state that must not be lost on PostgreSQL, or on a single Redis with `appendfsync always`.
 *
 * If the server does not respond at the start, the store connects as soon as it does; until then the sidecar is not
 * healthy. Opening rejects with a `StateError`: `driver-missing`, `newer-format`, or `failed` for errors that retries
 * cannot fix, such as wrong credentials.
 *
 * @param given - the URL, or the options
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', state: redisState('redis://cache.internal:6379') });
 * ```
 * @public
 */
export function redisState(given: string | RedisOptions): StateDefinition {
  const options = typeof given === 'string' ? { url: given } : given;
  checkOptions('options of redisState', options, FIELDS);
  const { prefix = DEFAULT_PREFIX, durability = 'server', onCall } = options;
  const timeouts = timeoutsOf(options);
  const { callTimeoutMs } = timeouts;
  const server = new RedisServer({
    target: targetOf(options, 'redisState'),
    prefix,
    durability,
    callTimeoutMs,
  });
  return {
    type: 'redis',
    place: placeOf(server),
    open: (context) => openRemoteStore(server, context, { ...timeouts, onCall, random: Math.random }),
  };
}
