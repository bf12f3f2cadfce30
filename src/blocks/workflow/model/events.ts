import type { WorkflowFailure } from './failure.ts';
import type { Payload } from './payload.ts';

/**
 * The rules under which a run began, and is replayed. Absent for runs of the first releases: there, events that had
 * arrived before a wait completed it at the call, and the failure of a branch that no code waits for changed nothing.
 * With 1, they complete waits one at a time, and that failure fails the instance. With 2, moreover, a cancellation gives up
 * the call of a child when the child has ended; before, at once.
 */
export type ReplayRules = 1 | 2;

/** The rules of runs that begin now. */
export const REPLAY_RULES: ReplayRules = 2;

/** An event that happens to an instance. The code reacts to it. */
export type IncomingEvent =
  | { readonly type: 'started'; readonly input: Payload }
  /** The code begins. This is separate from `started` because it may happen later. */
  | { readonly type: 'begun'; readonly rules?: ReplayRules }
  | { readonly type: 'activityCompleted'; readonly sequence: number; readonly output: Payload }
  | { readonly type: 'activityFailed'; readonly sequence: number; readonly failure: WorkflowFailure }
  | { readonly type: 'timerFired'; readonly sequence: number }
  | { readonly type: 'childCompleted'; readonly sequence: number; readonly output: Payload }
  | { readonly type: 'childFailed'; readonly sequence: number; readonly failure: WorkflowFailure }
  | { readonly type: 'eventRaised'; readonly name: string; readonly data: Payload }
  | { readonly type: 'suspended' }
  | { readonly type: 'resumed' }
  /** What the code waits for is given up, and the code can clean up. */
  | { readonly type: 'cancelRequested' }
  | { readonly type: 'terminated'; readonly output: Payload };

/** An action of the code. */
export type ActionEvent =
  | {
      readonly type: 'activityScheduled';
      readonly sequence: number;
      readonly name: string;
      readonly input: Payload;
      readonly attempt: number;
      /** The sequence of the first attempt. */
      readonly activityId: number;
    }
  | { readonly type: 'timerCreated'; readonly sequence: number; readonly dueAt: number }
  | {
      readonly type: 'childStarted';
      readonly sequence: number;
      readonly name: string;
      readonly instanceId: string;
      readonly input: Payload;
    }
  | { readonly type: 'patched'; readonly name: string };

/** One entry of a history. */
export type HistoryEvent = IncomingEvent | ActionEvent;

export type ChildStarted = Extract<ActionEvent, { type: 'childStarted' }>;

/** One turn in the history. */
export interface Turn {
  readonly at: number;
  readonly events: readonly HistoryEvent[];
}

/** A name for comparison, which ignores case. */
export function eventKey(name: string): string {
  return name.toLowerCase();
}
