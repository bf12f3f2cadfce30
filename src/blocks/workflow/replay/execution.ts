import type { Logger } from '../../../util/logger.ts';
import type { ActivityFunction, RetryPolicy } from '../model/definition.ts';
import type { WorkflowFailure } from '../model/failure.ts';
import type { Payload } from '../model/payload.ts';

/*
 * The seam between the engine and the ways in which workflow code can be written. The engine applies one event of the
 * history after the other to an Execution, which settles tasks; after each it waits until no microtask is left. A way
 * of writing (async functions, generators) is a Program: it runs the code on an Execution and turns settled tasks into
 * whatever its code waits for.
 */

/** Something that workflow code waits for. Settled once, by an event of the history. */
export interface Task {
  /** For messages: `activity "charge"`, `timer`, `event "approval"`, `child workflow "ship"`. */
  readonly what: string;
  /** Its number among the actions of the code, from 1; 0 for the wait for an event. The first one when it is retried. */
  readonly sequence: number;
  readonly state: 'pending' | 'completed' | 'failed';
  /** What it completed with. */
  readonly value: Payload;
  /** Why it failed, for good. */
  readonly failure: WorkflowFailure | undefined;
  /**
   * Calls back when it is settled: at once when it is already, else while the event is applied. Says that the code
   * waits for it: code that waits for nothing of this kind hangs, and that is found out.
   */
  onSettled(listener: (task: Task) => void): void;
}

/** Calls an activity. */
export interface ActivityCall {
  readonly name: string;
  readonly input: Payload;
  readonly retry?: RetryPolicy | undefined;
  /** What to run, when the code named a function; else the one that is registered under the name. */
  readonly run?: ActivityFunction | undefined;
}

/** Starts a child workflow. */
export interface ChildCall {
  readonly name: string;
  readonly input: Payload;
  readonly instanceId?: string | undefined;
  readonly retry?: RetryPolicy | undefined;
}

/** One run of workflow code, new or replayed. Everything that it answers is the same in every replay. */
export interface Execution {
  readonly instanceId: string;
  readonly workflowName: string;
  readonly input: Payload;
  /** The code is run again over what has happened already. */
  readonly isReplaying: boolean;
  /** The instant of the present turn, in milliseconds since 1970. */
  readonly now: number;
  callActivity(call: ActivityCall): Task;
  callChild(call: ChildCall): Task;
  /** A timer; an instant that is past fires in the next turn. */
  createTimer(dueAt: number): Task;
  /** Without a time limit it waits for ever; a limit of 0 or less is over at once when no event is there. */
  waitForEvent(name: string, timeoutMs?: number): Task;
  isPatched(patch: string): boolean;
  setCustomStatus(status: string): void;
  /** The code ends here and begins anew with this input; what it waits for is dropped. */
  continueAsNew(input: Payload, keepEvents: boolean): void;
  newUuid(): string;
  random(): number;
  /** Says nothing while the code is replayed. */
  readonly log: Logger;
  /** The code has returned. */
  complete(output: Payload): void;
  /** The code has thrown. */
  fail(failure: WorkflowFailure): void;
}

/** Begins to run workflow code; returns when it waits for the first time, or later. Must not throw. */
export type Program = (execution: Execution) => void;
