import type { CancelToken } from '../util/cancel-token.ts';
import type { BreakerState, CircuitBreaker } from './breaker.ts';
import type { Retry } from './retry.ts';

/** The result or error of an attempt. */
export type CallResult<T> = { readonly value: T } | { readonly error: unknown };

/** The verdict on an attempt: it succeeded, it failed and may be retried, or it failed for good. */
export type Verdict = 'success' | 'retry' | 'failure';

/** The timeout, retries and circuit breaker for one kind of call to one target. */
export interface Policy {
  /** Time limit of one attempt; `undefined` for no limit of this policy. */
  readonly timeoutMs: number | undefined;
  readonly retry: Retry | undefined;
  readonly breaker: CircuitBreaker | undefined;
  /** Whether it may retry: bodies must then be kept for sending again. */
  readonly mayRetry: boolean;
  /** The verdict on a response: statuses below 200 and above 399 are failures, retried according to `matching`. */
  verdictOf(status: number): Verdict;
  /**
   * Attempts the call until it succeeds, fails for good, or no retry is left; returns the result of the last attempt.
   * `attempt` counts from 1. Its token is cancelled when the caller gives up or the attempt times out, but not after
   * the attempt has ended: if the result is still being read then, listen to the caller's token too. While the breaker
   * is open, rejects at once with `circuit breaker is open` or `too many requests`.
   *
   * The time of an attempt counts from its beginning; with `isTimedLater` from the moment when it calls `begun`.
   */
  run<T>(
    cancelToken: CancelToken,
    attempt: (cancelToken: CancelToken, attempt: number, begun: () => void) => Promise<T>,
    judge: (outcome: CallResult<T>) => Verdict,
    options?: { readonly isTimedLater?: boolean },
  ): Promise<T>;
}

/** A circuit breaker. @public */
export interface BreakerInfo {
  /** The kind of target: an application (or HTTP endpoint), a component, or an actor type. */
  readonly targetType: 'app' | 'component' | 'actor';
  /** The app ID, HTTP endpoint, URL, component or actor type. */
  readonly target: string;
  /**
   * The guarded part of the target: a method of the application; `inbound` or `outbound` of a component; the actor ID,
   * empty for all of the type.
   */
  readonly endpoint: string;
  /** The name of its policy. */
  readonly policy: string;
  /** Its state. */
  readonly state: BreakerState;
  /** When an open one lets attempts through again, in milliseconds since 1970; absent if it is not open. */
  readonly openUntil?: number;
  /** How many attempts have failed one after the other, since it last changed. */
  readonly consecutiveFailures: number;
}

/** The policies of all targets that the sidecar calls. `undefined`: no policy applies. */
export interface Resiliency {
  /** For calls to another application; each `endpoint` has its own breaker. */
  forApp(appId: string, endpoint: string): Policy | undefined;
  /** For calls to an HTTP endpoint, by its name or URL. */
  forEndpoint(name: string, endpoint: string): Policy | undefined;
  /**
   * For a component: `outbound` for calls to it, `inbound` for its deliveries to the application. Default policies may
   * be for a `kind`; by default that of pub/sub.
   */
  forComponent(name: string, direction: Direction, kind?: ComponentKind): Policy | undefined;
  /** For calls of an actor by the host where it is. */
  forActor(actorType: string, actorId: string): Policy | undefined;
  /** The circuit breakers of the policies that have been asked for. */
  breakers(): readonly BreakerInfo[];
}

/** The kinds of components, as the names of default policies have them. */
export type ComponentKind = 'Pubsub' | 'Statestore' | 'Secretstore' | 'Configuration' | 'Lock' | 'Binding';

/** The direction of component calls: to the component, or from it to the application. */
export type Direction = 'inbound' | 'outbound';
