import { AsyncLocalStorage } from 'node:async_hooks';
import { messageOf } from '../../errors.ts';
import { EMPTY_BODY } from '../../http/message.ts';
import { cancelTokenOfSignal, NEVER } from '../../util/cancel-token.ts';
import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { jsonTextOf } from '../../util/json-value.ts';
import { checkFunction } from '../../util/known-fields.ts';
import {
  ANYTHING,
  checkOptions,
  field,
  invalidArgument,
  type OptionFields,
  SIGNAL,
  TEXT,
} from '../../util/option-fields.ts';
import { shown } from '../../util/shown.ts';
import { inCode } from '../in-code.ts';
import { Actor, type ActorClass, type ActorOf } from './actor.ts';
import type { ActorsService } from './actors-service.ts';
import { CodeActors } from './hosting/code-actors.ts';
import type { ActorReply } from './model/call.ts';
import { DEFAULT_SETTINGS, DEFAULT_STACK_DEPTH } from './model/configuration.ts';
import { checkMethod } from './model/names.ts';
import { Reminders } from './reminders/reminders.ts';
import type { FoundActorValue } from './storage/actor-states.ts';

/** Options of {@link Actors.register}. @public */
export interface ActorOptions {
  /** The actor type. Default: the name of the class. */
  readonly type?: string | undefined;
  /** After how long without a call, reminder or timer an actor is deactivated. Default: an hour. */
  readonly idleTimeout?: Duration | undefined;
  /** How long the turn of an actor that moves to another host may still take. Default: 15 s. */
  readonly drainTimeout?: Duration | undefined;
  /**
   * Whether a chain of calls may come back to an actor that is in it; an actor without that waits for itself for ever.
   * A number is the most calls of one chain in an actor. Default: `false`; `true` is 32.
   */
  readonly reentrant?: boolean | number | undefined;
}

/** Options of {@link Actors.call}. @public */
export interface ActorCallOptions {
  /** Ends the waiting: a call that waits for its turn is not made then. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/** An active actor. @public */
export interface ActiveActorInfo {
  /** Its type. */
  readonly actorType: string;
  /** Its ID. */
  readonly actorId: string;
  /** How many calls are in it: more than one only of one chain. */
  readonly calls: number;
  /** How many calls wait for their turn. */
  readonly waiting: number;
}

const OPTIONS: OptionFields<ActorOptions> = {
  type: TEXT,
  idleTimeout: duration(1),
  drainTimeout: duration(0),
  reentrant: field(
    (value) => typeof value === 'boolean' || (Number.isSafeInteger(value) && Number(value) >= 1),
    'true, false, or an integer of 1 or more',
  ),
};
const CALL_OPTIONS: OptionFields<ActorCallOptions & { readonly method: string; readonly body?: unknown }> = {
  method: ANYTHING,
  body: ANYTHING,
  signal: SIGNAL,
};

/**
 * Virtual actors: objects with an identity and durable state, of which at most one is active at a time, over all hosts.
 *
 * @public
 */
export class Actors {
  readonly #service: ActorsService;
  /** The type of each class. */
  readonly #types = new Map<ActorClass, string>();
  /** The chain of calls that code is in, and nothing else. */
  readonly #chains = new AsyncLocalStorage<string | undefined>();
  /** The reminders of all actors of the application: to list, run and delete them. */
  readonly reminders: Reminders;

  /** @internal */
  constructor(service: ActorsService) {
    this.#service = service;
    this.reminders = new Reminders({
      service: service.reminders,
      check: (address) => service.check(address),
    });
  }

  /**
   * Hosts the actors of a class. All hosts of an application have to register the same types.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for a class that does not extend {@link Actor} and a wrong option;
   * `ERR_CONFIGURATION` once the sidecar has been started, and for a type that is registered already.
   * @example
   * ```ts
   * class Counter extends Actor<{ count: number }> {
   *   add(amount: number): number {
   *     this.state.count = (this.state.count ?? 0) + amount;
   *     return this.state.count;
   *   }
   * }
   * sidecar.actors.register(Counter, { idleTimeout: '10m' });
   * await sidecar.start();
   * ```
   */
  register<T extends Actor<object>>(actorClass: ActorClass<T>, options: ActorOptions = {}): void {
    checkFunction(actorClass, 'the class of actors', 'actorClass');
    if (!(actorClass.prototype instanceof Actor))
      throw invalidArgument(
        `${shown(actorClass.name)} is not a class of actors: expected one that extends Actor`,
        'actorClass',
      );
    checkOptions('options of actors.register', options, OPTIONS, invalidArgument);
    const { type = actorClass.name, idleTimeout, drainTimeout, reentrant = false } = options;
    const { idleTimeoutMs, drainTimeoutMs } = DEFAULT_SETTINGS;
    const depth = reentrant === true ? DEFAULT_STACK_DEPTH : reentrant || undefined;
    const settings = {
      idleTimeoutMs: idleTimeout === undefined ? idleTimeoutMs : msOf(idleTimeout),
      drainTimeoutMs: drainTimeout === undefined ? drainTimeoutMs : msOf(drainTimeout),
      maxStackDepth: depth,
    };
    this.#service.register(type, (deps) => ({
      settings,
      hosting: new CodeActors({ ...deps, actorType: type, actorClass, actors: this, chains: this.#chains }),
    }));
    this.#types.set(actorClass, type);
  }

  /**
   * An actor by its class: its methods can be called from here, wherever it lives. For a type that another application
   * hosts, its class (then the name of the class is the type) or its name.
   *
   * @example
   * ```ts
   * const alice = sidecar.actors.get<{ add(item: string): Promise<number> }>('Cart', 'alice');
   * console.log(await alice.add('book'));
   * ```
   */
  get<T extends Actor<object>>(actor: ActorClass<T>, id: string): ActorOf<T>;
  /** An actor by the name of its type. */
  get<T extends object = Record<string, (...args: unknown[]) => Promise<unknown>>>(actor: string, id: string): T;
  get(actor: ActorClass | string, id: string): object {
    if (typeof actor !== 'string') checkFunction(actor, 'the actor', 'actor');
    const actorType = typeof actor === 'string' ? actor : (this.#types.get(actor) ?? actor.name);
    const address = { actorType, actorId: id };
    return new Proxy(Object.freeze({}), {
      get: (_target, name) => {
        // A proxy that is awaited must not look like a promise.
        if (typeof name === 'symbol' || name === 'then') return undefined;
        return async (...args: readonly unknown[]): Promise<unknown> => {
          const body = args.length === 0 ? undefined : args;
          return parsed(await this.#call(address, name, { body }));
        };
      },
    });
  }

  /**
   * Calls a method of an actor with one body, as JSON, and returns its answer.
   *
   * @throws SidecarError `ERR_ACTOR_INVOKE_METHOD` if it has failed, `ERR_ACTOR_NO_ADDRESS` if no application hosts the
   * type; with `wire: 'dapr'` that is `ERR_ACTOR_INVOKE_METHOD` too.
   */
  async call<T = unknown>(
    type: string,
    id: string,
    input: { readonly method: string; readonly body?: unknown } & ActorCallOptions,
  ): Promise<T> {
    checkOptions('options of actors.call', input, CALL_OPTIONS, invalidArgument);
    const { method, body, signal } = input;
    // The cast is the caller's word for what the actor answers.
    return parsed(await this.#call({ actorType: type, actorId: id }, method, { body, signal })) as T;
  }

  async #call(
    address: { readonly actorType: string; readonly actorId: string },
    method: string,
    { body, signal }: { readonly body: unknown; readonly signal?: AbortSignal | undefined },
  ): Promise<ActorReply> {
    const text = body === undefined ? undefined : jsonOf(body);
    const call = {
      ...{ method, search: '' },
      headers: text === undefined ? {} : { 'content-type': 'application/json' },
      body: text === undefined ? EMPTY_BODY : Buffer.from(text),
      chain: this.#chains.getStore(),
      cancel: signal === undefined ? NEVER : cancelTokenOfSignal(signal),
    };
    try {
      checkMethod(method);
      return await this.#service.call(address, call);
    } catch (error) {
      throw inCode(error);
    }
  }

  /**
   * The active actors of this host, in no order.
   *
   * @param type - only those of this type. Default: all.
   */
  active(type?: string): readonly ActiveActorInfo[] {
    const actors = this.#service.active?.list() ?? [];
    const meant = type === undefined ? actors : actors.filter(({ address }) => address.actorType === type);
    return meant.map(({ address, line }) => ({ ...address, calls: line.inside, waiting: line.waiting }));
  }

  /** The actor types of this host, in alphabetical order. */
  types(): readonly string[] {
    return this.#service.types.names;
  }

  /**
   * The state of an actor, active or not: its values by their keys, at most 1,000. That of an actor in code has the key
   * `state`.
   */
  async state(type: string, id: string): Promise<ReadonlyMap<string, unknown>> {
    const found = await this.inspectState(type, id);
    return new Map(found.map(({ key, text }) => [key, JSON.parse(text) as unknown]));
  }

  /** The state of an actor as JSON text, digit for digit. @internal */
  async inspectState(type: string, id: string): Promise<readonly FoundActorValue[]> {
    try {
      return await this.#service.listState({ actorType: type, actorId: id });
    } catch (error) {
      throw inCode(error);
    }
  }
}

function jsonOf(body: unknown): string {
  try {
    return jsonTextOf(body) ?? 'null';
  } catch (error) {
    throw invalidArgument(`what the actor is called with ${messageOf(error)}`, 'body');
  }
}

/** The answer as JSON; `undefined` if there is none; its text if it is not JSON. */
function parsed({ body }: ActorReply): unknown {
  if (body.length === 0) return undefined;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
