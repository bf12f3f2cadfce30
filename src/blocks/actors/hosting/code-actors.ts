import type { AsyncLocalStorage } from 'node:async_hooks';
import { isSidecarError, messageOf } from '../../../errors.ts';
import { EMPTY_BODY } from '../../../http/message.ts';
import { jsonTextOf } from '../../../util/json-value.ts';
import type { Logger } from '../../../util/logger.ts';
import type { Apart } from '../../../util/outside.ts';
import { thrown } from '../../failure.ts';
import { Actor, type ActorClass, RUNTIME } from '../actor.ts';
import type { Actors } from '../actors.ts';
import type { ActorCall, ActorReply } from '../model/call.ts';
import { invokeFailed, saveFailed } from '../model/errors.ts';
import type { ActorTick, TickOutcome } from '../model/tick.ts';
import type { ActorStates } from '../storage/actor-states.ts';
import type { ActiveActor } from '../turns/active-actor.ts';
import type { ActorHosting } from './hosted-types.ts';

/** The key of the state of an actor in code. */
const STATE_KEY = 'state';
const NO_STATE = '{}';

/** What {@link CodeActors} have of the sidecar. */
export interface CodeHostDeps {
  readonly apart: Apart;
  readonly logger: Logger;
  /** There once the sidecar has opened. */
  readonly states: () => ActorStates;
}

/** The dependencies of {@link CodeActors}. */
export interface CodeActorsDeps extends CodeHostDeps {
  readonly actorType: string;
  readonly actorClass: ActorClass;
  readonly actors: Actors;
  readonly chains: AsyncLocalStorage<string | undefined>;
}

/** The object of an active actor, and its state as it is stored. */
interface LiveActor {
  readonly object: Actor;
  text: string;
}

/** The actors of a class. */
export class CodeActors implements ActorHosting {
  readonly #deps: CodeActorsDeps;
  readonly isPresent = true;

  constructor(deps: CodeActorsDeps) {
    this.#deps = deps;
  }

  async call(actor: ActiveActor, { method, body, chain }: ActorCall): Promise<ActorReply> {
    const args = argumentsOf(body);
    if (args === undefined) throw invokeFailed(actor.address, `the arguments of ${method} are not JSON`);
    const result = await this.#turn(actor, chain, method, (object) => {
      const run = methodOf(object, method);
      if (run === undefined)
        throw invokeFailed(actor.address, `method ${JSON.stringify(method)} was not found in the class`);
      return run.apply(object, [...args]);
    });
    let text: string | undefined;
    try {
      text = jsonTextOf(result);
    } catch (error) {
      throw invokeFailed(actor.address, `the result of ${method} ${messageOf(error)}`, error);
    }
    if (text === undefined) return { status: 204, headers: {}, body: EMPTY_BODY };
    return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) };
  }

  async tick(actor: ActiveActor, { kind, name, body }: ActorTick, chain: string | undefined): Promise<TickOutcome> {
    const { data } = JSON.parse(Buffer.from(body).toString()) as { readonly data?: unknown };
    try {
      const method = kind === 'reminder' ? 'onReminder' : 'onTimer';
      const isCanceled = await this.#turn(actor, chain, `${method} ${name}`, (object) => object[method](name, data));
      return { kind: 'done', isCanceled: isCanceled === true };
    } catch (error) {
      return { kind: 'failed', ...thrown(error) };
    }
  }

  async deactivate(actor: ActiveActor): Promise<void> {
    const live = actor.instance as LiveActor | undefined;
    actor.instance = undefined;
    try {
      await this.#deps.apart()(() => live?.object.onDeactivate());
    } catch (error) {
      this.#deps.logger.warn({ ...actor.address, error }, 'onDeactivate of an actor has failed');
    }
  }

  /**
   * Runs code of the actor as a part of its turn. The turn ends with a commit when the call has returned that began it;
   * calls of its chain that come in between belong to it.
   */
  async #turn(
    actor: ActiveActor,
    chain: string | undefined,
    what: string,
    work: (object: Actor) => unknown,
  ): Promise<unknown> {
    const isOutermost = actor.line.inside === 1;
    const live = (actor.instance as LiveActor | undefined) ?? (await this.#activate(actor, chain));
    let result: unknown;
    try {
      result = await this.#run(chain, () => work(live.object));
    } catch (error) {
      if (isOutermost) this.#rollBack(live);
      if (isSidecarError(error) && error.code === 'ERR_ACTOR_INVOKE_METHOD') throw error;
      this.#deps.logger.warn({ ...actor.address, method: what, error }, 'an actor has failed');
      throw invokeFailed(actor.address, messageOf(error), error);
    }
    if (isOutermost || actor.line.inside === 1) await this.#commit(actor, live);
    return result;
  }

  #run<T>(chain: string | undefined, work: () => T): T {
    return this.#deps.apart()(() => this.#deps.chains.run(chain, work));
  }

  async #activate(actor: ActiveActor, chain: string | undefined): Promise<LiveActor> {
    const { actorClass, actors, states } = this.#deps;
    const text = (await states().get(actor.address, STATE_KEY))?.text ?? NO_STATE;
    const { actorType: type, actorId: id } = actor.address;
    const object = this.#run(chain, () => new actorClass()) as Actor;
    object[RUNTIME] = { id, type, signal: actor.ending.signal, actors };
    const live = { object, text };
    if (text !== NO_STATE) this.#rollBack(live);
    try {
      await this.#run(chain, () => object.onActivate());
    } catch (error) {
      throw invokeFailed(actor.address, `onActivate: ${messageOf(error)}`, error);
    }
    actor.instance = live;
    return live;
  }

  /** The state becomes again what it was at the last commit. */
  #rollBack(live: LiveActor): void {
    live.object.state = JSON.parse(live.text) as object;
  }

  async #commit(actor: ActiveActor, live: LiveActor): Promise<void> {
    let text: string;
    try {
      text = jsonTextOf(live.object.state) ?? NO_STATE;
    } catch (error) {
      this.#rollBack(live);
      throw invokeFailed(actor.address, `its state ${messageOf(error)}`, error);
    }
    if (text === live.text) return;
    try {
      await this.#deps.states().commitTurn(actor, { key: STATE_KEY, text }, undefined);
      live.text = text;
    } catch (error) {
      // What is stored is not known: the next turn reads it.
      actor.instance = undefined;
      const reason = this.#deps.states().isFenced(error)
        ? 'the actor belongs to another host now'
        : 'the state store failed';
      throw saveFailed(actor.address, reason, error);
    }
  }
}

/** The arguments of a call: the elements of a JSON array, or one other value. `undefined` if the body is no JSON. */
function argumentsOf(body: Uint8Array): readonly unknown[] | undefined {
  if (body.length === 0) return [];
  try {
    const value: unknown = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString());
    return Array.isArray(value) ? value : [value];
  } catch {
    return undefined;
  }
}

type Method = (this: Actor, ...args: readonly unknown[]) => unknown;

/** A method of the user's class, or of a class between it and `Actor`. */
function methodOf(object: Actor, name: string): Method | undefined {
  if (name.startsWith('_') || name === 'constructor' || name in Actor.prototype) return undefined;
  for (
    let at: unknown = Object.getPrototypeOf(object);
    at !== null && at !== Actor.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    const value: unknown = Object.getOwnPropertyDescriptor(at, name)?.value;
    // The cast is safe: a function of the class is called on its object.
    if (typeof value === 'function') return value as Method;
  }
  return undefined;
}
