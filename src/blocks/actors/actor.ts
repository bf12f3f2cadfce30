import type { Actors } from './actors.ts';
import type { ActorReminders, ActorTickContext, ActorTimers } from './reminders/in-code.ts';

/** What an actor has of the sidecar that it lives in. */
export interface ActorRuntime {
  readonly id: string;
  readonly type: string;
  readonly signal: AbortSignal;
  readonly actors: Actors;
  readonly reminders: ActorReminders;
  readonly timers: ActorTimers;
}

/** Where the runtime of an actor is. */
export const RUNTIME: unique symbol = Symbol('runtime of the actor');

/**
 * The base class of actors in code. An actor is one of its type and its ID; it has durable state, and at most one
 * activation over all hosts, which runs one call at a time.
 *
 * Each public method can be called by `sidecar.actors.get`. One call is one turn, and one turn one commit: what the method
 * has changed of {@link Actor.state} is stored when it has returned, and dropped if it throws. Arguments and results are
 * copied as JSON. Methods whose name begins with `_`, and those of this class, cannot be called.
 *
 * @example
 * ```ts
 * class Cart extends Actor<{ items: string[] }> {
 *   add(item: string): number {
 *     this.state.items = [...(this.state.items ?? []), item];
 *     return this.state.items.length;
 *   }
 * }
 * ```
 * @public
 */
export abstract class Actor<State extends object = Record<string, unknown>> {
  /** Its state: empty at first. What is changed in it is stored at the end of a turn. Values must be JSON. */
  state: Partial<State> = {};
  /** @internal */
  [RUNTIME]: ActorRuntime | undefined;

  /** Its ID. */
  get id(): string {
    return this.#runtime.id;
  }

  /** Its type: by default the name of the class. */
  get type(): string {
    return this.#runtime.type;
  }

  /**
   * Fires when the actor is to end what it does: the sidecar stops, or the actor moves to another host. What runs longer
   * cannot be stored.
   */
  get signal(): AbortSignal {
    return this.#runtime.signal;
  }

  /** Calls of other actors. They belong to the chain of calls that this actor is in. */
  get actors(): Actors {
    return this.#runtime.actors;
  }

  /**
   * Its reminders: they call {@link Actor.onReminder} at times that outlive the process. What a turn changes of them is
   * stored with its state, in one commit.
   */
  get reminders(): ActorReminders {
    return this.#runtime.reminders;
  }

  /** Its timers: they call {@link Actor.onTimer} while the actor is active, and are in memory only. */
  get timers(): ActorTimers {
    return this.#runtime.timers;
  }

  get #runtime(): ActorRuntime {
    const runtime = this[RUNTIME];
    if (runtime === undefined) throw new Error('the actor has no sidecar in its constructor: use onActivate');
    return runtime;
  }

  /** Called in the first turn of an activation, before its method. An error fails that turn. */
  onActivate(): void | Promise<void> {}

  /** Called when the actor becomes inactive. What it changes in the state is not stored. */
  onDeactivate(): void | Promise<void> {}

  /**
   * Called when a reminder is due, with the data that it was set with. `true` ends the reminder. It is a turn, as the
   * call of a method is, and runs at least once: a crash right after it can repeat it, with its state stored already.
   *
   * @throws whatever it throws makes it a failed attempt, which is repeated as `retry` of the reminder says
   */
  onReminder(_name: string, _data: unknown, _tick: ActorTickContext): void | boolean | Promise<void | boolean> {}

  /**
   * Called when a timer is due, with the data that it was set with. `true` ends the timer. It is a turn, too.
   *
   * @throws whatever it throws is logged, and the timer goes on
   */
  onTimer(_name: string, _data: unknown, _tick: ActorTickContext): void | boolean | Promise<void | boolean> {}
}

/** A class of actors. @public */
export type ActorClass<T extends Actor<object> = Actor<object>> = new () => T;

/** The methods of an actor, as they are called from outside: each returns a promise. @public */
export type ActorOf<T> = {
  readonly [Name in CallableName<T>]: T[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/** The names of the methods of an actor that can be called from outside. @public */
export type CallableName<T> = {
  [Name in keyof T]: Name extends keyof Actor<object> | `_${string}`
    ? never
    : T[Name] extends (...args: never) => unknown
      ? Name
      : never;
}[keyof T];
