import type { Duration } from '../../../util/duration.ts';
import { checkOptions } from '../../../util/option-fields.ts';
import type { ConfigurationStoreDefinition } from '../../configuration-store.ts';
import { REDIS_SERVER_FIELDS, redisServerOf } from '../connection-options.ts';
import type { RedisConnectionOptions } from '../target.ts';
import { RedisConfiguration } from './redis-configuration-store.ts';

/** Options of {@link redisConfiguration}. @public */
export interface RedisConfigurationOptions extends RedisConnectionOptions {
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /** The time limit of an attempt to connect and of the server's answers. Default `5s`. */
  readonly callTimeout?: Duration | undefined;
}

/**
 * Configuration in the string keys of a database of Redis or Valkey, in the form of Dapr's `configuration.redis`:
 * `<value>||<version>`, or the value alone. Needs the package `redis` 6. A cluster is refused.
 *
 * Changes are seen by keyspace events. A subscription adds those that it needs to the server's
 * `notify-keyspace-events`; where the server does not let it, the keys are read every second instead. At most 10,000 keys
 * are read when no keys are named.
 *
 * @param name - the name of the store in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const components = [redisConfiguration('settings', { url: 'redis://cache.internal:6379' })];
 * ```
 * @public
 */
export function redisConfiguration(name: string, options: RedisConfigurationOptions): ConfigurationStoreDefinition {
  const what = `redisConfiguration ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, REDIS_SERVER_FIELDS);
  const server = redisServerOf(options, what, 'configuration.redis');
  return {
    block: 'configuration',
    name,
    type: 'configuration.redis',
    version: 'v1',
    ...(options.scopes === undefined ? {} : { scopes: options.scopes }),
    open: async (context) => {
      // A package that is not installed is an error of the start: it would look like a server that is down for ever.
      await server.load();
      return new RedisConfiguration(server, context);
    },
  };
}
