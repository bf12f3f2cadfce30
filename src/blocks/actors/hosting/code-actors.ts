import type { AsyncLocalStorage } from 'node:async_hooks';
import { isSidecarError, messageOf } from '../../../errors.ts';
import { EMPTY_BODY } from '../../../http/message.ts';
import { isConflictError, isStateError } from '../../../state/errors.ts';
import { jsonTextOf } from '../../../util/json-value.ts';
import type { Logger } from '../../../util/logger.ts';
import type { Apart } from '../../../util/outside.ts';
import { thrown } from '../../failure.ts';
import { Actor, type ActorClass, RUNTIME } from '../actor.ts';
import type { Actors } from '../actors.ts';
import type { ActorCall, ActorReply } from '../model/call.ts';
import { invokeFailed, saveFailed } from '../model/errors.ts';
import type { ActorTick, TickOutcome } from '../model/tick.ts';
import type { TurnPart } from '../model/turn-changes.ts';
import type { ReminderChanges, ReminderEnd, ReminderService } from '../reminders/reminder-service.ts';
import type { TimerService } from '../reminders/timer-service.ts';
import type { ActorStates, TurnState } from '../storage/actor-states.ts';
import type { ActiveActor } from '../turns/active-actor.ts';
import type { ActorHosting } from './hosted-types.ts';
import { NO_CHANGES, type TickChanges, TurnTicks } from './turn-ticks.ts';

/** The key of the state of an actor in code. */
const STATE_KEY = 'state';
const NO_STATE = '{}';

/** What {@link CodeActors} have of the sidecar. */
export interface CodeHostDeps {
  readonly apart: Apart;
  readonly logger: Logger;
  /** There once the sidecar has opened. */
  readonly states: () => ActorStates;
  readonly reminders: ReminderService;
  readonly timers: TimerService;
}

/** The dependencies of {@link CodeActors}. */
export interface CodeActorsDeps extends CodeHostDeps {
  readonly actorType: string;
  readonly actorClass: ActorClass;
  readonly actors: Actors;
  readonly chains: AsyncLocalStorage<string | undefined>;
}

/** What an actor is before a turn, and again if that fails. */
interface Baseline {
  /** Its state, as JSON text. */
  readonly text: string;
  readonly ticks: TickChanges;
}

/** The object of an active actor. */
interface LiveActor {
  readonly object: Actor;
  readonly ticks: TurnTicks;
  /** Its state as it is stored, and the version of that. */
  stored: string;
  version: TurnState['version'];
  /** What is stored, or is to be stored with the first turn: what `onActivate` has changed. */
  base: Baseline;
}

/** Code of an actor that runs as a part of a turn. */
interface CodeTurn {
  readonly chain: string | undefined;
  /** For the log. */
  readonly what: string;
  readonly work: (object: Actor) => unknown;
  /** Of the tick of a reminder: its end, by what the code has returned. */
  readonly endOf?: (result: unknown) => ReminderEnd | undefined;
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
    const work = (object: Actor): unknown => {
      const run = methodOf(object, method);
      if (run === undefined)
        throw invokeFailed(actor.address, `method ${JSON.stringify(method)} was not found in the class`);
      return run.apply(object, [...args]);
    };
    const result = await this.#turn(actor, { chain, what: method, work });
    let text: string | undefined;
    try {
      text = jsonTextOf(result);
    } catch (error) {
      throw invokeFailed(actor.address, `the result of ${method} ${messageOf(error)}`, error);
    }
    if (text === undefined) return { status: 204, headers: {}, body: EMPTY_BODY };
    return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) };
  }

  async tick(
    actor: ActiveActor,
    { kind, name, body, dueAt, attempt, prepareEnd }: ActorTick,
    chain: string | undefined,
  ): Promise<TickOutcome> {
    const { data } = JSON.parse(Buffer.from(body).toString()) as { readonly data?: unknown };
    try {
      const method = kind === 'reminder' ? 'onReminder' : 'onTimer';
      const work = (object: Actor): unknown => object[method](name, data, { dueAt, attempt });
      const endOf = (result: unknown): ReminderEnd | undefined =>
        prepareEnd && { name, prepare: () => prepareEnd(result === true) };
      const isCanceled = await this.#turn(actor, { chain, what: `${method} ${name}`, work, endOf });
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
  async #turn(actor: ActiveActor, { chain, what, work, endOf }: CodeTurn): Promise<unknown> {
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
    if (isOutermost || actor.line.inside === 1) await this.#commit(actor, live, endOf?.(result));
    return result;
  }

  #run<T>(chain: string | undefined, work: () => T): T {
    return this.#deps.apart()(() => this.#deps.chains.run(chain, work));
  }

  async #activate(actor: ActiveActor, chain: string | undefined): Promise<LiveActor> {
    const { actorClass, actors, states, reminders, timers } = this.#deps;
    const { address } = actor;
    const found = await states().get(address, STATE_KEY);
    const { text: stored } = found ?? { text: NO_STATE };
    const version = found === undefined ? 'absent' : Number(found.etag);
    const { actorType: type, actorId: id } = address;
    const ticks = new TurnTicks({ address, reminders, timers, isInTurn: () => actor.line.inside > 0 });
    const object = this.#run(chain, () => new actorClass()) as Actor;
    const { signal } = actor.ending;
    object[RUNTIME] = { id, type, signal, actors, reminders: ticks.reminders, timers: ticks.timers };
    if (stored !== NO_STATE) object.state = JSON.parse(stored) as object;
    try {
      await this.#run(chain, () => object.onActivate());
    } catch (error) {
      throw invokeFailed(address, `onActivate: ${messageOf(error)}`, error);
    }
    const base = { text: this.#stateText(actor, object), ticks: ticks.changes };
    const live: LiveActor = { object, ticks, stored, version, base };
    actor.instance = live;
    return live;
  }

  #stateText(actor: ActiveActor, { state }: Actor): string {
    try {
      return jsonTextOf(state) ?? NO_STATE;
    } catch (error) {
      throw invokeFailed(actor.address, `its state ${messageOf(error)}`, error);
    }
  }

  /** The actor becomes again what it was before the turn. */
  #rollBack({ object, ticks, base }: LiveActor): void {
    object.state = JSON.parse(base.text) as object;
    ticks.reset(base.ticks);
  }

  /** Stores what the turn has changed, in one commit; then its timers begin. */
  async #commit(actor: ActiveActor, live: LiveActor, end: ReminderEnd | undefined): Promise<void> {
    let text: string;
    try {
      text = this.#stateText(actor, live.object);
    } catch (error) {
      this.#rollBack(live);
      throw error;
    }
    const { reminders, timers } = live.ticks.changes;
    live.ticks.reset(NO_CHANGES);
    try {
      await this.#store(actor, live, { text, changes: [...reminders.values()], end });
      live.base = { text, ticks: NO_CHANGES };
    } catch (error) {
      // What is stored is not known: the next turn reads it.
      actor.instance = undefined;
      throw saveFailed(actor.address, this.#reasonOf(error), error);
    }
    this.#setTimers(actor, timers);
  }

  #reasonOf(error: unknown): string {
    if (this.#deps.states().isFenced(error)) return 'the actor belongs to another host now';
    if (isConflictError(error)) return 'it has been written by others meanwhile';
    return isStateError(error) ? messageOf(error) : 'the state store failed';
  }

  /**
   * The version shows that nobody else has written the state since this object has: not another host, and not an earlier
   * activation here whose turn took longer than its deactivation could wait.
   */
  async #store(
    actor: ActiveActor,
    live: LiveActor,
    { text, ...ofReminders }: ReminderChanges & { readonly text: string },
  ): Promise<void> {
    const { states, reminders } = this.#deps;
    const isChanged = text !== live.stored;
    const { changes, end } = ofReminders;
    // The end of a tick alone is recorded after the turn.
    if (!isChanged && changes.length === 0) return;
    const state = { key: STATE_KEY, text: isChanged ? text : undefined, version: live.version };
    const commit = (part?: TurnPart): Promise<number> => states().commitTurn(actor, state, part);
    const isOfStateOnly = changes.length === 0 && end === undefined;
    const version = await (isOfStateOnly ? commit() : reminders.commitTurn(actor.address, ofReminders, commit));
    if (isChanged) Object.assign(live, { stored: text, version });
  }

  #setTimers(actor: ActiveActor, changes: TickChanges['timers']): void {
    const { timers } = this.#deps;
    for (const [name, planned] of changes) {
      timers.delete({ ...actor.address, name });
      // Those of an actor that is to end, or is another host's by now, would end with it.
      if (planned !== undefined && actor.closed === undefined && actor.shard.isOwned) timers.begin(planned);
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
