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
  readonly scopes?: readonly string[];
  /** The time limit of an attempt to connect and of the server's answers, in milliseconds. Default 5,000. */
  readonly callTimeoutMs?: number;
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
    return (await this.#send(['SET', resource, owner, 'NX', 'EX', seconds])) !== null;
  }

  async unlock(resource: string, owner: string): Promise<UnlockOutcome> {
    const { sha1, text } = UNLOCK;
    const rest = ['1', resource, owner];
    const answer = await this.#send(['EVALSHA', sha1, ...rest]).catch((error: unknown) => {
      if (!isUnknownScript(error)) throw error;
      return this.#send(['EVAL', text, ...rest]);
    });
    const outcome = OUTCOMES[Number(answer)];
    if (outcome === undefined) throw new Error(`unexpected answer ${String(answer)}`);
    return outcome;
  }

  async #send(command: readonly string[]): Promise<unknown> {
    await this.#router.reachable(0);
    return this.#router.send(0, command);
  }

  close(): Promise<void> {
    return this.#router.close();
  }
}

function isUnknownScript(error: unknown): boolean {
  return (error as Error).message.includes('NOSCRIPT');
}
