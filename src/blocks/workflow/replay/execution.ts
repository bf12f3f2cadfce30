import type { Logger } from '../../../util/logger.ts';
import type { ActivityFunction } from '../model/definition.ts';
import type { WorkflowFailure } from '../model/failure.ts';
import type { Payload } from '../model/payload.ts';
import type { TaskRetry } from '../model/retry.ts';

/*
 * The seam between the engine and the ways in which workflow code can be written. The engine applies one event of the
 * history after the other to an Execution, which settles tasks; after each it waits until no microtask is left. A way
 * of writing (async functions, generators) is a Program: it runs the code on an Execution and turns settled tasks into
 * whatever its code waits for.
 */

/** A task that workflow code waits for. An event of the history settles it once. */
export interface Task {
  /** For messages: `activity "charge"`, `timer`, `event "approval"`, `child workflow "ship"`. */
  readonly what: string;
  /** The number of its action, from 1; 0 for a wait for an event. With retries, the number of the first attempt. */
  readonly sequence: number;
  readonly state: 'pending' | 'completed' | 'failed';
  /** Its result. */
  readonly value: Payload;
  /** Why it failed for good. */
  readonly failure: WorkflowFailure | undefined;
  /**
   * Calls back when the task is settled: at once if it already is, else while the event is applied. It also marks that
   * the code waits for the task: code that waits for no task hangs, which is detected.
   */
  onSettled(listener: (task: Task) => void): void;
  /** Notes that the code waits for the task now, be it again. `isCallback`: a function of the application gets its result. */
  noteWait(isCallback: boolean): void;
  /** Notes that the code has got the result. An event that it has not got goes along with `continueAsNew`. */
  noteSeen(): void;
}

/** Calls an activity. */
export interface ActivityCall {
  readonly name: string;
  readonly input: Payload;
  readonly retry?: TaskRetry | undefined;
  /** The time limit of an attempt; none if `undefined` or 0. */
  readonly timeoutMs?: number | undefined;
  /** The function to run, if the code gave one; else the one registered under the name. */
  readonly run?: ActivityFunction | undefined;
}

/** Starts a child workflow. */
export interface ChildCall {
  readonly name: string;
  readonly input: Payload;
  readonly instanceId?: string | undefined;
  readonly retry?: TaskRetry | undefined;
}

/** One run of workflow code, new or replayed. Everything it returns is the same in every replay. */
export interface Execution {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly input: Payload;
  /** Whether the code is being replayed. */
  readonly isReplaying: boolean;
  /** The instant of the current turn, in milliseconds since 1970. */
  readonly now: number;
  callActivity(call: ActivityCall): Task;
  callChild(call: ChildCall): Task;
  /** Creates a timer; if its instant is past, it fires in the next turn. */
  createTimer(dueAt: number): Task;
  /**
   * Waits for an event; forever without a time limit. With a limit of 0 or less, it times out at once if no event is
   * queued.
   */
  waitForEvent(name: string, timeoutMs?: number): Task;
  isPatched(patch: string): boolean;
  setCustomStatus(status: string): void;
  /** Ends the code and starts it again with this input; its pending tasks are dropped. */
  continueAsNew(input: Payload, keepEvents: boolean): void;
  newUuid(): string;
  random(): number;
  /** Notes that an error of a task is thrown into the code: if no code handles it, the instance fails. */
  noteThrown(error: Error): void;
  /** Silent during a replay. */
  readonly log: Logger;
  /** The code has returned. */
  complete(output: Payload): void;
  /** The code has thrown. */
  fail(failure: WorkflowFailure): void;
}

/** Starts workflow code; returns when the code waits for the first time, or later. Must not throw. */
export type Program = (execution: Execution) => void;
