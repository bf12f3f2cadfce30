import type { Batch } from '../../../state/store.ts';
import type { CancelToken } from '../../../util/cancel-token.ts';
import type { ActorAddress } from './address.ts';

/** A call that the sidecar makes at a time: a reminder or a timer. */
export interface ActorTick {
  readonly kind: 'reminder' | 'timer';
  /** The name of the reminder or timer. */
  readonly name: string;
  /** The body as an application receives it: JSON with `data`, `dueTime` and `period`, and `callback` of a timer. */
  readonly body: Uint8Array;
  /** The instant for which it was planned, in milliseconds since 1970. */
  readonly dueAt: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Cancels a tick that still waits for its turn. One that has begun ends with the answer of the actor. */
  readonly cancel: CancelToken;
  /**
   * Called when the turn begins, before the actor is: at once, before `runTurn` returns, if the actor is free. Answers
   * whether the tick is still wanted; if not, it is `brokenOff` and the actor is not called.
   */
  readonly begins: () => boolean | Promise<boolean>;
  /**
   * Of a reminder: prepares the record that this tick has succeeded, for a turn that commits it with what it changes; once
   * more after each conflict. `undefined` if there is nothing to record. `isCanceled`: the reminder ends with it.
   */
  readonly prepareEnd?: (isCanceled: boolean) => Promise<PreparedEnd | undefined>;
}

/** A part of a commit, and what is to be called with the version of the commit once it is durable. */
export interface PreparedEnd extends Batch {
  readonly written: (version: number) => void;
}

/** How a tick has ended. */
export type TickOutcome =
  /** `isCanceled`: the actor wants no further tick of this reminder or timer. */
  | { readonly kind: 'done'; readonly isCanceled: boolean }
  | { readonly kind: 'failed'; readonly reason: string; readonly thrown?: { readonly value: unknown } | undefined }
  /** The application could not be reached: counts as not begun. */
  | { readonly kind: 'undelivered'; readonly reason: string }
  /** Cancelled while it waited, broken off by a stop, or the actor lives at another host now: counts as not begun. */
  | { readonly kind: 'brokenOff'; readonly reason: string };

/** Runs a tick as a turn of its actor, behind the turns that wait already. Never rejects. */
export type RunTurn = (address: ActorAddress, tick: ActorTick) => Promise<TickOutcome>;

/** What reminders and timers need of the actors of this host. */
export interface ActorTurns {
  readonly runTurn: RunTurn;
  /** Whether ticks of a type can run here now: it is hosted in code, or by an application that is present. */
  canRun(actorType: string): boolean;
  /** Whether this application hosts the type, in code or by its configuration. */
  hosts(actorType: string): boolean;
  /**
   * Activates an actor whose shard this host owns, unless it is active: a timer is set.
   *
   * @throws SidecarError if the shard is another host's.
   */
  activate(address: ActorAddress): void;
  /** Calls back when an actor is deactivated or its shard is lost: its timers end. */
  onDeactivated(listener: (address: ActorAddress) => void): void;
  /** Calls back when types can run here that could not. */
  onRunnable(listener: () => void): void;
}
