import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import type { Logger } from '../../util/logger.ts';
import { invalidConfiguration, type OptionFields, TEXTS } from '../../util/option-fields.ts';
import { OutageLog } from '../outage-log.ts';
import { Dialer } from './dialer.ts';
import { loadRedis, type RedisModule } from './driver.ts';
import { KeyRouter } from './pubsub/key-router.ts';
import { CONNECTION_FIELDS, type RedisConnectionOptions, type RedisTarget, targetName, targetOf } from './target.ts';

/** Options of components on one Redis server. */
export interface RedisServerOptions extends RedisConnectionOptions {
  readonly scopes?: readonly string[] | undefined;
  readonly callTimeout?: Duration | undefined;
}

/** The fields of {@link RedisServerOptions}. */
export const REDIS_SERVER_FIELDS: OptionFields<RedisServerOptions> = {
  ...CONNECTION_FIELDS,
  scopes: TEXTS,
  callTimeout: duration(1),
};

const DEFAULT_CALL_TIMEOUT_MS = 5_000;

/** How a component reaches its server. */
export interface RedisServerSettings {
  readonly target: RedisTarget;
  readonly load: () => Promise<RedisModule>;
  readonly callTimeoutMs: number;
}

/**
 * The server of a component, or its cluster. `what` names the function of the options, `neededBy` what needs the package.
 *
 * @throws SidecarError `ERR_CONFIGURATION` for a connection that cannot be used.
 */
export function redisServersOf(options: RedisServerOptions, what: string, neededBy: string): RedisServerSettings {
  const target = targetOf(options, what);
  const load = (): Promise<RedisModule> => loadRedis('redis', neededBy);
  return { target, load, callTimeoutMs: msOf(options.callTimeout) ?? DEFAULT_CALL_TIMEOUT_MS };
}

/**
 * The server of a component of this type. `what` names the function of the options.
 *
 * @throws SidecarError `ERR_CONFIGURATION` for a connection that cannot be used, such as a cluster.
 */
export function redisServerOf(options: RedisServerOptions, what: string, type: string): RedisServerSettings {
  const settings = redisServersOf(options, what, `The component of type ${type}`);
  if (settings.target.isCluster)
    throw invalidConfiguration(`${what} cannot use a cluster: expected a single server, or one behind sentinels`);
  return settings;
}

/** Connects, for ever. */
export function routerTo(
  { target, load, callTimeoutMs }: RedisServerSettings,
  logger: Logger,
  outages: OutageLog = new OutageLog(logger, targetName(target)),
): KeyRouter {
  return new KeyRouter({
    target,
    dialer: new Dialer({ target, load, protocol: 2 }),
    timeoutMs: callTimeoutMs,
    logger,
    outages,
    onConnected: () => undefined,
    random: Math.random,
  });
}
