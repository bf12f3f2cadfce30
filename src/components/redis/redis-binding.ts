import type { Duration } from '../../util/duration.ts';
import { isTruthy } from '../../util/is-truthy.ts';
import { checkOptions, type OptionFields } from '../../util/option-fields.ts';
import {
  type Binding,
  type BindingDefinition,
  BindingError,
  type BindingOptions,
  type BindingRequest,
  type BindingResponse,
} from '../binding.ts';
import { BINDING_FIELDS, commonParts } from '../binding-options.ts';
import type { ComponentContext } from '../component.ts';
import { ConnectionLostError } from '../remote/connection.ts';
import { REDIS_SERVER_FIELDS, type RedisServerSettings, redisServersOf, routerTo } from './connection-options.ts';
import type { RedisArgument } from './driver.ts';
import type { KeyRouter } from './pubsub/key-router.ts';
import { type Script, script } from './scripts.ts';
import type { RedisConnectionOptions } from './target.ts';

/** Options of {@link redisBinding}. @public */
export interface RedisBindingOptions extends RedisConnectionOptions, BindingOptions {
  /** App IDs that may use it. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /** The time limit of an attempt to connect and of the server's answers. Default `5s`. */
  readonly callTimeout?: Duration | undefined;
}

const FIELDS: OptionFields<RedisBindingOptions> = { ...REDIS_SERVER_FIELDS, ...BINDING_FIELDS };

/** Counts and sets the end in one step. */
const INCREMENT: Script = script(`
local count = redis.call('INCR', KEYS[1])
if ARGV[1] ~= '' then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count`);

/**
 * An output binding to Redis 6.2 or later, or Valkey: the operations `create`, `get`, `delete` and `increment` on the
 * key in the metadata `key`, with a time to live in `ttlInSeconds`. The data are kept as JSON text. A `get` with the
 * metadata `delete` deletes the key as well. Needs the package `redis` 6.
 *
 * @param name - the name in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const components = [redisBinding('cache', { url: 'redis://cache.internal:6379' })];
 * ```
 * @public
 */
export function redisBinding(name: string, options: RedisBindingOptions): BindingDefinition {
  const what = `redisBinding ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  const server = redisServersOf(options, what, 'The component of type bindings.redis');
  return {
    ...commonParts(options),
    name,
    type: 'bindings.redis',
    directions: ['output'],
    operations: ['create', 'get', 'delete', 'increment'],
    open: async (context) => {
      // A package that is not installed is an error of the start: it would look like a server that is down for ever.
      await server.load();
      return new RedisBinding(server, context);
    },
  };
}

class RedisBinding implements Binding {
  readonly #router: KeyRouter;

  constructor(server: RedisServerSettings, { logger }: ComponentContext) {
    this.#router = routerTo(server, logger);
  }

  get failure(): Error | undefined {
    const { failure } = this.#router;
    return failure === undefined ? undefined : new Error(failure);
  }

  async invoke({ operation, data, metadata }: BindingRequest): Promise<BindingResponse | undefined> {
    const { key = '' } = metadata;
    if (key === '') throw new BindingError('metadata key is missing: expected the key of a value');
    const ttl = ttlOf(metadata['ttlInSeconds']);
    const expiry = ttl === undefined ? [] : ['EX', ttl];
    try {
      switch (operation) {
        case 'create':
          await this.#send(key, ['SET', key, asBuffer(data), ...expiry]);
          return undefined;
        case 'get': {
          const value = await this.#send(key, [isTruthy(metadata['delete'] ?? '') ? 'GETDEL' : 'GET', key]);
          // The cast is safe: texts in replies are buffers.
          return value === null ? {} : { data: value as Buffer };
        }
        case 'increment':
          await this.#reached(key, (slot) => this.#router.runScript(slot, INCREMENT, [key], [ttl ?? '']));
          return undefined;
        default:
          await this.#send(key, ['DEL', key]);
          return undefined;
      }
    } catch (error) {
      throw failureOf(error);
    }
  }

  #send(key: string, command: readonly RedisArgument[]): Promise<unknown> {
    return this.#reached(key, (slot) => this.#router.send(slot, command));
  }

  async #reached(key: string, call: (slot: number) => Promise<unknown>): Promise<unknown> {
    const slot = this.#router.slot(key);
    await this.#router.reachable(slot);
    return call(slot);
  }

  close(): Promise<void> {
    return this.#router.close();
  }
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

function ttlOf(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new BindingError('metadata ttlInSeconds must be a whole number of 1 or more');
  return text;
}

/** Only the code: the server's text may have its address, and parts of the data. */
function failureOf(error: unknown): BindingError {
  const code = error instanceof ConnectionLostError ? undefined : codeOf(error);
  const reason = code === undefined ? 'cannot be reached, or did not answer in time' : `refuses the command (${code})`;
  return new BindingError(`Redis ${reason}`, {}, { cause: error });
}

/** The first word of the server's reply. */
function codeOf(error: unknown): string | undefined {
  const { cause } = Object(error) as { readonly cause?: unknown };
  return cause instanceof Error ? /^[A-Z]+\b/.exec(cause.message)?.[0] : undefined;
}
