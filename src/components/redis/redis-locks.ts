import type { Duration } from '../../util/duration.ts';
import { checkOptions, type OptionFields } from '../../util/option-fields.ts';
import type { ComponentContext } from '../component.ts';
import { LOCK_FIELDS } from '../lock-options.ts';
import type { LockStore, LockStoreDefinition, LockStoreOptions, UnlockOutcome } from '../lock-store.ts';
import { REDIS_SERVER_FIELDS, type RedisServerSettings, redisServerOf, routerTo } from './connection-options.ts';
import type { KeyRouter } from './pubsub/key-router.ts';
import { type Script, script } from './scripts.ts';
import type { RedisConnectionOptions } from './target.ts';

/** Options of {@link redisLocks}. @public */
export interface RedisLocksOptions extends RedisConnectionOptions, LockStoreOptions {
  /** App IDs that may use the store. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /** The time limit of an attempt to connect and of the server's answers. Default `5s`. */
  readonly callTimeout?: Duration | undefined;
}

const FIELDS: OptionFields<RedisLocksOptions> = { ...REDIS_SERVER_FIELDS, ...LOCK_FIELDS };

/** Compares and deletes in one step. */
const UNLOCK: Script = script(`
local owner = redis.call('GET', KEYS[1])
if not owner then return 1 end
if owner ~= ARGV[1] then return 2 end
redis.call('DEL', KEYS[1])
return 0`);

const OUTCOMES: readonly UnlockOutcome[] = ['released', 'missing', 'foreign'];

/**
 * Locks in Redis or Valkey, in the form of Dapr's `lock.redis`: both can share them. Needs the package `redis` 6. A
 * cluster is refused. Replication is asynchronous: after a failover, a lock may be taken a second time.
 *
 * @param name - the name of the store in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const components = [redisLocks('locks', { url: 'redis://cache.internal:6379' })];
 * ```
 * @public
 */
export function redisLocks(name: string, options: RedisLocksOptions): LockStoreDefinition {
  const what = `redisLocks ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  const server = redisServerOf(options, what, 'lock.redis');
  const { scopes, keyPrefix } = options;
  return {
    block: 'lock',
    name,
    type: 'lock.redis',
    version: 'v1',
    ...(scopes === undefined ? {} : { scopes }),
    options: keyPrefix === undefined ? {} : { keyPrefix },
    open: async (context) => {
      // A package that is not installed is an error of the start: it would look like a server that is down for ever.
      await server.load();
      return new RedisLocks(server, context);
    },
  };
}

/** A lock is the name of its owner, at the key of the lock. */
class RedisLocks implements LockStore {
  readonly #router: KeyRouter;

  constructor(server: RedisServerSettings, { logger }: ComponentContext) {
    this.#router = routerTo(server, logger);
  }

  get failure(): Error | undefined {
    const { failure } = this.#router;
    return failure === undefined ? undefined : new Error(failure);
  }

  async tryLock(resource: string, owner: string, expiryMs: number): Promise<boolean> {
    const seconds = String(Math.ceil(expiryMs / 1_000));
    await this.#router.reachable(0);
    return (await this.#router.send(0, ['SET', resource, owner, 'NX', 'EX', seconds])) !== null;
  }

  async unlock(resource: string, owner: string): Promise<UnlockOutcome> {
    await this.#router.reachable(0);
    const answer = await this.#router.runScript(0, UNLOCK, [resource], [owner]);
    const outcome = OUTCOMES[Number(answer)];
    if (outcome === undefined) throw new Error(`unexpected answer ${String(answer)}`);
    return outcome;
  }

  close(): Promise<void> {
    return this.#router.close();
  }
}
