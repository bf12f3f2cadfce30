import type { Logger } from '../../util/logger.ts';
import { invalidConfiguration, type OptionFields, TEXTS, whole } from '../../util/option-fields.ts';
import { OutageLog } from '../outage-log.ts';
import { Dialer } from './dialer.ts';
import { loadRedis, type RedisModule } from './driver.ts';
import { KeyRouter } from './pubsub/key-router.ts';
import { CONNECTION_FIELDS, type RedisConnectionOptions, type RedisTarget, targetName, targetOf } from './target.ts';

/** Options of components on one Redis server. */
export interface RedisServerOptions extends RedisConnectionOptions {
  readonly scopes?: readonly string[];
  readonly callTimeoutMs?: number;
}

/** The fields of {@link RedisServerOptions}. */
export const REDIS_SERVER_FIELDS: OptionFields<RedisServerOptions> = {
  ...CONNECTION_FIELDS,
  scopes: TEXTS,
  callTimeoutMs: whole(1),
};

const DEFAULT_CALL_TIMEOUT_MS = 5_000;

/** How a component reaches its server. */
export interface RedisServerSettings {
  readonly target: RedisTarget;
  readonly load: () => Promise<RedisModule>;
  readonly callTimeoutMs: number;
}

/**
 * The server of a component. `what` names the function of the options, `type` that of the component.
 *
 * @throws SidecarError `ERR_CONFIGURATION` for a connection that cannot be used, such as a cluster.
 */
export function redisServerOf(options: RedisServerOptions, what: string, type: string): RedisServerSettings {
  const target = targetOf(options, what, invalidConfiguration);
  if (target.isCluster)
    throw invalidConfiguration(`${what} cannot use a cluster: expected a single server, or one behind sentinels`);
  const load = (): Promise<RedisModule> => loadRedis('redis', `The component of type ${type}`);
  return { target, load, callTimeoutMs: options.callTimeoutMs ?? DEFAULT_CALL_TIMEOUT_MS };
}

/** Connects, for ever. */
export function routerTo({ target, load, callTimeoutMs }: RedisServerSettings, logger: Logger): KeyRouter {
  return new KeyRouter({
    target,
    dialer: new Dialer({ target, load, protocol: 2 }),
    timeoutMs: callTimeoutMs,
    logger,
    outages: new OutageLog(logger, targetName(target)),
    onConnected: () => undefined,
    random: Math.random,
  });
}
