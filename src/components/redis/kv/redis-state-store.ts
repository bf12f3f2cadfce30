import type { Duration } from '../../../util/duration.ts';
import type { OptionFields } from '../../../util/option-fields.ts';
import type { KeyValueDefinition, StateStoreOptions } from '../../key-value.ts';
import { checkStoreOptions } from '../../key-value-options.ts';
import { openAtOnce } from '../../remote/open-at-once.ts';
import { FORMAT_STORE_FIELDS, stateDefinition, TIMEOUT } from '../../state-definition.ts';
import { redisServersOf } from '../connection-options.ts';
import { CONNECTION_FIELDS, type RedisConnectionOptions } from '../target.ts';
import { RedisKeyValue } from './redis-key-value.ts';

/** Options of {@link redisStateStore}. @public */
export interface RedisStateStoreOptions extends RedisConnectionOptions, StateStoreOptions {
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /** The time limit of an attempt to connect and of the server's answers. Default `5s`. */
  readonly callTimeout?: Duration | undefined;
}

const FIELDS: OptionFields<RedisStateStoreOptions> = {
  ...FORMAT_STORE_FIELDS,
  ...CONNECTION_FIELDS,
  callTimeout: TIMEOUT,
};

/**
 * A state store in Redis 6.2 or later, or Valkey, in the form of Dapr's `state.redis`: both can read and write the same
 * keys. Needs the package `redis` 6. A write resolves when Redis has it; what a crash of the server can lose is decided
 * by its persistence.
 *
 * Transactions are all or nothing; on a cluster, their keys must share a hash tag. There are no queries.
 *
 * @param name - the name of the store in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const sidecar = new Sidecar({
 *   appId: 'orders',
 *   components: [redisStateStore('orders', { url: 'redis://cache.internal:6379' })],
 * });
 * ```
 * @public
 */
export function redisStateStore(name: string, options: RedisStateStoreOptions): KeyValueDefinition {
  const component = `redisStateStore ${JSON.stringify(name)}`;
  checkStoreOptions(`options of ${component}`, options, FIELDS);
  const server = redisServersOf(options, component, 'The state store of type state.redis');
  return stateDefinition({ name, type: 'state.redis', version: 'v1' }, options, async (context) => {
    // A package that is not installed is an error of the start: it would look like a server that is down for ever.
    await server.load();
    return openAtOnce(new RedisKeyValue({ name, ...server }, context));
  });
}
