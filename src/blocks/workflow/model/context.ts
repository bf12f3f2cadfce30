import type { Duration } from '../../../util/duration.ts';
import type { Jsonify } from '../../../util/jsonify.ts';
import type { Logger } from '../../../util/logger.ts';
import type { RetryOptions } from '../../../util/retry-options.ts';
import type { EventDefinition } from './define-event.ts';
import type { ActivityLike, WorkflowLike } from './definition.ts';
import type { WorkflowFailure } from './failure.ts';

/** How an activity is called. @public */
export interface CallActivityOptions {
  /** Its delays are durable timers; `retryIf` is workflow code and must be deterministic. Default: one attempt. */
  readonly retry?: RetryOptions<WorkflowFailure> | undefined;
  /**
   * The time limit of each attempt; 0 for no limit. After it the attempt has failed with `ActivityTimeoutError`, and its
   * signal fires. A function that does not heed the signal may still run while the next attempt does. Default: no limit;
   * an attempt that runs for five minutes is then reported in the log.
   */
  readonly timeout?: Duration | undefined;
}

/** How a child workflow is started. @public */
export interface CallChildOptions {
  /** Its ID, of letters, digits, `_` and `-`, at most 64. Default: `<parent>-<number>`, the same in every replay. */
  readonly instanceId?: string | undefined;
  /** Its delays are durable timers; `retryIf` is workflow code and must be deterministic. Default: one attempt. */
  readonly retry?: RetryOptions<WorkflowFailure> | undefined;
}

/** Options of waiting for an event. @public */
export interface WaitForEventOptions {
  /** How long to wait; with 0, only an event that has already arrived counts. Default: no limit. */
  readonly timeout?: Duration | undefined;
}

/** Options of continuing as new. @public */
export interface ContinueAsNewOptions {
  /** Whether events that no code has got yet are kept. Default `true`. */
  readonly keepEvents?: boolean | undefined;
}

/** Options of {@link WorkflowContext.map}. @public */
export interface MapOptions {
  /** How many items are worked on at the same time: a whole number of 1 or more, or `Infinity`. Default 10. */
  readonly concurrency?: number | undefined;
}

/**
 * The API of workflow code. Every promise that it returns is durable: the process may end while the code waits, and
 * another one continues from there. Plain `Promise.all`, `race`, `any` and `allSettled` work with these promises. Other
 * promises (`fetch`, timers) belong in activities; waiting for one fails the workflow with `WorkflowAwaitError`.
 *
 * @public
 */
export interface WorkflowContext<Status = unknown> {
  /** The ID of this instance. */
  readonly instanceId: string;
  /** The name of this workflow. */
  readonly workflowName: string;
  /** Whether the code is being replayed. Use it to avoid repeating side effects. */
  readonly isReplaying: boolean;
  /** A logger that is silent during a replay. */
  readonly log: Logger;

  /**
   * Runs an activity, at least once, even if no code waits for it.
   *
   * @throws TaskFailedError from the promise, if the activity has failed for good.
   * @example
   * ```ts
   * const charge = defineActivity('charge', async (id: number) => `receipt of order ${id}`);
   * defineWorkflow('checkout', async (ctx, id: number) => ctx.callActivity(charge, id, { retry: { maxRetries: 4 } }));
   * ```
   */
  callActivity<Input, Output>(
    activity: ActivityLike<Input, Output>,
    ...rest: undefined extends Input
      ? [input?: Input, options?: CallActivityOptions]
      : [input: Input, options?: CallActivityOptions]
  ): Promise<Jsonify<Output>>;
  /** Runs the activity registered under a name. */
  callActivity<Output = unknown>(name: string, input?: unknown, options?: CallActivityOptions): Promise<Output>;

  /**
   * Runs a workflow as a child.
   *
   * @throws TaskFailedError from the promise, if the child failed, was terminated, or its ID is in use.
   * @example
   * ```ts
   * const order = defineWorkflow('order', async (_ctx, id: number) => id);
   * defineWorkflow('orders', async (ctx, ids: number[]) => ctx.all(ids.map((id) => ctx.callChild(order, id))));
   * ```
   */
  callChild<Input, Output>(
    workflow: WorkflowLike<Input, Output>,
    ...rest: undefined extends Input
      ? [input?: Input, options?: CallChildOptions]
      : [input: Input, options?: CallChildOptions]
  ): Promise<Jsonify<Output>>;
  /** Runs the workflow registered under a name as a child. */
  callChild<Output = unknown>(name: string, input?: unknown, options?: CallChildOptions): Promise<Output>;

  /**
   * Waits for a duration, or until an instant, a `Date` or a text of RFC 3339. Never shorter.
   *
   * @example
   * ```ts
   * defineWorkflow('reminder', async (ctx) => {
   *   await ctx.sleep('3d');
   * });
   * ```
   */
  sleep(until: Duration | Date | `${number}-${number}-${number}T${string}`): Promise<void>;

  /**
   * Waits for an event. Case does not matter in names; events that arrived earlier are delivered in order, one at a time.
   *
   * @throws EventTimeoutError from the promise, if no event arrives within `timeout`; TaskFailedError whose failure has the
   * type `InvalidDataError`, if the data of the event do not fit its schema.
   * @example
   * ```ts
   * const approved = defineEvent<{ by: string }>('approved');
   * defineWorkflow('approval', async (ctx) => (await ctx.waitForEvent(approved, { timeout: '1d' })).by);
   * ```
   */
  waitForEvent<Output>(event: EventDefinition<unknown, Output>, options?: WaitForEventOptions): Promise<Output>;
  /** Waits for the event of a name. */
  waitForEvent<Event = unknown>(name: string, options?: WaitForEventOptions): Promise<Event>;

  /** Like `Promise.all`, but its rejection causes no unhandled rejection while no code waits for the result. */
  all<const T extends readonly unknown[]>(values: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }>;
  /** Like `Promise.any`, without unhandled rejections. Events that lose go along with `continueAsNew`. */
  any<const T extends readonly unknown[]>(values: T): Promise<Awaited<T[number]>>;
  /** Like `Promise.race`, without unhandled rejections. Events that lose go along with `continueAsNew`. */
  race<const T extends readonly unknown[]>(values: T): Promise<Awaited<T[number]>>;

  /**
   * Calls a function for each item, for a few of them at the same time; the results are in the order of the items. The
   * function is workflow code: what it calls is durable, and the next item begins when the one before is done.
   *
   * After a failure no further item begins. The promise rejects with the first failure when all that have begun have
   * ended, and causes no unhandled rejection while no code waits for it.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for items that are no array, a missing function, and wrong options.
   * @example
   * ```ts
   * const resize = defineActivity('resize', async (url: string) => `${url}?small`);
   * defineWorkflow('album', (ctx, urls: string[]) =>
   *   ctx.map(urls, (url) => ctx.callActivity(resize, url), { concurrency: 4 }),
   * );
   * ```
   */
  map<Item, Result>(
    items: readonly Item[],
    fn: (item: Item, index: number) => Result,
    options?: MapOptions,
  ): Promise<Awaited<Result>[]>;

  /** The instant of the current turn, in milliseconds since 1970. Use it instead of `Date.now()`. */
  now(): number;
  /** A UUID, the same in every replay. */
  uuid(): string;
  /** A number from 0 (inclusive) to 1 (exclusive), the same in every replay. Use it instead of `Math.random()`. */
  random(): number;

  /**
   * Sets a status that the state of the instance shows: any JSON value, of at most 64 Ki characters of JSON. Its type is
   * that of the context: `async (ctx: WorkflowContext<{ done: number }>, input: Order) => …`.
   */
  setCustomStatus(status: Status): void;
  /**
   * Ends this run and starts again with another input and an empty history: `return ctx.continueAsNew(next)`.
   *
   * @example
   * ```ts
   * defineWorkflow('poll', async (ctx, round: number) => {
   *   await ctx.sleep('1h');
   *   ctx.continueAsNew(round + 1);
   * });
   * ```
   */
  continueAsNew(input?: unknown, options?: ContinueAsNewOptions): never;
  /**
   * Whether this instance runs the patched code. True for instances that reach this point for the first time; false if
   * their history passed it before the patch existed. The history keeps the answer.
   */
  isPatched(patch: string): boolean;
}
