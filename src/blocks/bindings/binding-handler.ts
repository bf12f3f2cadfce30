import type { Duration } from '../../util/duration.ts';

/** What a {@link BindingHandler} gets beside the data. @public */
export interface BindingEventContext {
  /** The name of the binding. */
  readonly name: string;
  /** What the binding tells about the event, by name. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The data as they came. */
  readonly bytes: Uint8Array;
  /** Aborted when the time-out is over, and during a stop. */
  readonly signal: AbortSignal;
}

/**
 * Handles an event of an input binding. The data are parsed if they are JSON, else a text, and `undefined` if there are
 * none. An event whose handler throws was not accepted: a cron binding goes on with its next tick.
 *
 * @public
 */
export type BindingHandler<T = unknown> = (data: T, context: BindingEventContext) => unknown;

/** Options of a handler of events. @public */
export interface BindingHandlerOptions {
  /** After this time the signal fires, and the event counts as not accepted once the function has returned. Default: none. */
  readonly timeout?: Duration | undefined;
}
