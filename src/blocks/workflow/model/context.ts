import type { Logger } from '../../../util/logger.ts';
import type { ActivityLike, RetryPolicy, WorkflowLike } from './definition.ts';

/** How an activity is called. @public */
export interface CallActivityOptions {
  /** Default: one attempt. */
  readonly retry?: RetryPolicy;
}

/** How a child workflow is started. @public */
export interface CallChildOptions {
  /** Its ID, of letters, digits, `_` and `-`, at most 64. Default: `<parent>-<number>`, the same in every replay. */
  readonly instanceId?: string;
  /** Default: one attempt. */
  readonly retry?: RetryPolicy;
}

/** How an event is waited for. @public */
export interface WaitForEventOptions {
  /** In milliseconds. Default: as long as it takes. */
  readonly timeoutMs?: number;
}

/** How a workflow continues as new. @public */
export interface ContinueAsNewOptions {
  /** Whether events that no code has waited for yet go along. Default `true`. */
  readonly keepEvents?: boolean;
}

/** The input may be left out where `undefined` is one. @public */
export type InputAnd<Input, Options> = undefined extends Input
  ? [input?: Input, options?: Options]
  : [input: Input, options?: Options];

/**
 * What workflow code has in hand. Every promise that it answers is durable: the process may end while the code waits,
 * another one goes on from there. Plain `Promise.all`, `race`, `any` and `allSettled` work with them; other promises
 * (`fetch`, timers) belong into activities, and waiting for one fails the workflow with `WorkflowAwaitError`.
 *
 * @public
 */
export interface WorkflowContext {
  /** The ID of this instance. */
  readonly instanceId: string;
  /** The name of this workflow. */
  readonly workflowName: string;
  /** The code is being run again over what has happened already. For side effects that must not be repeated. */
  readonly isReplaying: boolean;
  /** A logger that says nothing while the code is replayed. */
  readonly log: Logger;

  /**
   * Runs an activity; at least once, also when nobody waits for it.
   *
   * @throws TaskFailedError from the promise, when it has failed for good.
   */
  callActivity<Input, Output>(
    activity: ActivityLike<Input, Output>,
    ...rest: InputAnd<Input, CallActivityOptions>
  ): Promise<Output>;
  /** Runs the activity that is registered under a name. */
  callActivity<Output = unknown>(name: string, input?: unknown, options?: CallActivityOptions): Promise<Output>;

  /**
   * Runs a workflow as a child.
   *
   * @throws TaskFailedError from the promise, when it failed, was terminated, or its ID is in use.
   */
  callChild<Input, Output>(
    workflow: WorkflowLike<Input, Output>,
    ...rest: InputAnd<Input, CallChildOptions>
  ): Promise<Output>;
  /** Runs the workflow that is registered under a name as a child. */
  callChild<Output = unknown>(name: string, input?: unknown, options?: CallChildOptions): Promise<Output>;

  /** Waits: so many milliseconds, a duration such as `1h30m`, or until an instant. Never shorter. */
  sleep(until: number | string | Date): Promise<void>;

  /**
   * Waits for an event. Names are matched without regard to case; events that came early are handed out in order.
   *
   * @throws EventTimeoutError from the promise, when none came within `timeoutMs` milliseconds.
   */
  waitForEvent<Event = unknown>(name: string, options?: WaitForEventOptions): Promise<Event>;

  /** `Promise.all` whose result may be left alone for a while: nobody hears of an unhandled rejection. */
  all<const T extends readonly unknown[]>(values: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }>;
  /** `Promise.any`, likewise. */
  any<const T extends readonly unknown[]>(values: T): Promise<Awaited<T[number]>>;
  /** `Promise.race`, likewise. */
  race<const T extends readonly unknown[]>(values: T): Promise<Awaited<T[number]>>;

  /** The instant of the present turn, in milliseconds since 1970: use it in place of `Date.now()`. */
  now(): number;
  /** A UUID that is the same in every replay. */
  uuid(): string;
  /** A number from 0 to below 1 that is the same in every replay: use it in place of `Math.random()`. */
  random(): number;

  /** Tells what the workflow is at, for those who look at the instance. At most 64 KiB. */
  setCustomStatus(status: string): void;
  /** Ends this run and begins anew with another input and an empty history: `return ctx.continueAsNew(next)`. */
  continueAsNew(input?: unknown, options?: ContinueAsNewOptions): never;
  /**
   * Whether this instance runs code that has the patch. True for instances that come here for the first time; false
   * for those whose history passed this place before the patch was there. The answer is kept in the history.
   */
  isPatched(patch: string): boolean;
}
