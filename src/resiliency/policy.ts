import type { CancelToken } from '../util/cancel-token.ts';
import type { CircuitBreaker } from './breaker.ts';
import type { Retry } from './retry.ts';

/** How an attempt has ended. */
export type AttemptOutcome<T> = { readonly value: T } | { readonly error: unknown };

/** What an attempt's end means: it worked; it failed and may work the next time; it failed for good. */
export type Verdict = 'success' | 'retry' | 'failure';

/** The time-out, the retries and the circuit breaker that hold for one kind of calls to one target. */
export interface Policy {
  /** How long one attempt may take; `undefined` for no limit of this policy. */
  readonly timeoutMs: number | undefined;
  readonly retry: Retry | undefined;
  readonly breaker: CircuitBreaker | undefined;
  /** It may ask for another attempt: a body must be kept, so that it can be sent again. */
  readonly mayRetry: boolean;
  /** What an answer with this HTTP status means: below 200 and above 399 failed, to be retried as `matching` says. */
  verdictOf(status: number): Verdict;
  /**
   * Makes attempts until one succeeds, fails for good, or no more are allowed; what the last one gave is the result.
   * `attempt` counts from 1. Its token is cancelled when the caller gives up or the time of this attempt is over, and not
   * once it has ended: who hands over a value that is still being read listens to the caller too. An attempt that the
   * breaker refuses is not made: rejects at once with `circuit breaker is open` or `too many requests`.
   */
  run<T>(
    cancelToken: CancelToken,
    attempt: (cancelToken: CancelToken, attempt: number) => Promise<T>,
    judge: (outcome: AttemptOutcome<T>) => Verdict,
  ): Promise<T>;
}

/** The policies of everything that the sidecar calls. `undefined`: none concerns it, and the call is made as it is. */
export interface Resiliency {
  /** For calls of another application; `endpoint` keeps the breakers of its methods apart. */
  forApp(appId: string, endpoint: string): Policy | undefined;
  /** For calls of an HTTP endpoint, by its name or URL. */
  forEndpoint(name: string, endpoint: string): Policy | undefined;
  /** For a component: `outbound` what it is asked to do, `inbound` what it brings to the application. */
  forComponent(name: string, direction: Direction): Policy | undefined;
}

/** Which way calls of a component go: to it, or from it to the application. */
export type Direction = 'inbound' | 'outbound';
