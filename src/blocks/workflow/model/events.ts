import type { WorkflowFailure } from './failure.ts';
import type { Payload } from './payload.ts';

/** What happens to an instance. The code reacts to it. */
export type IncomingEvent =
  | { readonly type: 'started'; readonly input: Payload }
  /** The code begins to run. Apart from `started`, as its time may come later. */
  | { readonly type: 'begun' }
  | { readonly type: 'activityCompleted'; readonly sequence: number; readonly output: Payload }
  | { readonly type: 'activityFailed'; readonly sequence: number; readonly failure: WorkflowFailure }
  | { readonly type: 'timerFired'; readonly sequence: number }
  | { readonly type: 'childCompleted'; readonly sequence: number; readonly output: Payload }
  | { readonly type: 'childFailed'; readonly sequence: number; readonly failure: WorkflowFailure }
  | { readonly type: 'eventRaised'; readonly name: string; readonly data: Payload }
  | { readonly type: 'suspended' }
  | { readonly type: 'resumed' }
  | { readonly type: 'terminated'; readonly output: Payload };

/** What the code does. */
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

/** One turn, as it is in the history. */
export interface Turn {
  readonly at: number;
  readonly events: readonly HistoryEvent[];
}

/** A name for comparison: case does not count. */
export function eventKey(name: string): string {
  return name.toLowerCase();
}
