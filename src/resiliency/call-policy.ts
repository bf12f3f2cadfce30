import { CancelSource, type CancelToken, cancelWith } from '../util/cancel-token.ts';
import { type Clock, sleep, type Timer } from '../util/clock.ts';
import type { Work } from '../util/work.ts';
import type { CircuitBreaker, Pass } from './breaker.ts';
import type { CallResult, Policy, Verdict } from './policy.ts';
import { PolicyError } from './policy-error.ts';
import type { Retry } from './retry.ts';

export interface PolicyDeps {
  readonly clock: Clock;
  readonly work: Work;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
}

export interface PolicySettings {
  /** A description of the target. */
  readonly subject: string;
  readonly timeoutMs: number | undefined;
  readonly retry: Retry | undefined;
  readonly breaker: CircuitBreaker | undefined;
  /** Called before each retry. */
  readonly retried?: (() => void) | undefined;
}

type Attempt<T> = (cancelToken: CancelToken, attempt: number, begun: () => void) => Promise<T>;

/** Retries around a circuit breaker around a timeout: every attempt counts and has its own timeout. */
export class CallPolicy implements Policy {
  readonly timeoutMs: number | undefined;
  readonly retry: Retry | undefined;
  readonly breaker: CircuitBreaker | undefined;
  readonly #subject: string;
  readonly #retried: (() => void) | undefined;
  readonly #deps: PolicyDeps;

  constructor({ subject, timeoutMs, retry, breaker, retried }: PolicySettings, deps: PolicyDeps) {
    this.timeoutMs = timeoutMs;
    this.retry = retry;
    this.breaker = breaker;
    this.#subject = subject;
    this.#retried = retried;
    this.#deps = deps;
  }

  get mayRetry(): boolean {
    return this.retry !== undefined && this.retry.maxRetries > 0;
  }

  verdictOf(status: number): Verdict {
    if (status >= 200 && status <= 399) return 'success';
    return this.retry?.includes(status) ? 'retry' : 'failure';
  }

  async run<T>(
    cancelToken: CancelToken,
    attempt: Attempt<T>,
    judge: (outcome: CallResult<T>) => Verdict,
    { isTimedLater = false }: { readonly isTimedLater?: boolean } = {},
  ): Promise<T> {
    for (let number = 1; ; number++) {
      const pass = this.breaker?.enter();
      const outcome = await this.#observe(() => this.#inTime(cancelToken, attempt, { number, isTimedLater }), number);
      const verdict = this.#close(pass, outcome, cancelToken, judge);
      const delayMs = verdict === 'retry' && !cancelToken.aborted ? this.#delayAfter(number) : undefined;
      if (delayMs === undefined) return resultOf(outcome);
      this.#retried?.();
      await sleep(this.#deps.clock, delayMs, cancelToken);
    }
  }

  async #observe<T>(attempt: () => Promise<T>, number: number): Promise<CallResult<T>> {
    const done = this.#deps.work.begin(`attempt ${number} of ${this.#subject}`);
    try {
      return { value: await attempt() };
    } catch (error) {
      return { error };
    } finally {
      done();
    }
  }

  /** Judges the outcome and releases the breaker, even if `judge` throws. */
  #close<T>(
    pass: Pass | undefined,
    outcome: CallResult<T>,
    cancelToken: CancelToken,
    judge: (outcome: CallResult<T>) => Verdict,
  ): Verdict {
    let verdict: Verdict = 'failure';
    try {
      verdict = judge(outcome);
      return verdict;
    } finally {
      const wasGivenUp = cancelToken.aborted && verdict !== 'success';
      const ending = verdict === 'success' ? 'success' : 'failure';
      if (pass !== undefined) this.breaker?.leave(pass, wasGivenUp ? 'abandoned' : ending);
    }
  }

  /** The delay before the next attempt; `undefined` if there is none or the breaker would reject it. */
  #delayAfter(number: number): number | undefined {
    const { retry, breaker } = this;
    if (retry === undefined || number > retry.maxRetries) return undefined;
    const { random } = this.#deps;
    const delayMs = retry.delayMs(number, random);
    return breaker?.state === 'open' && delayMs < breaker.remainingMs ? undefined : delayMs;
  }

  #inTime<T>(
    cancelToken: CancelToken,
    attempt: Attempt<T>,
    { number, isTimedLater }: { readonly number: number; readonly isTimedLater: boolean },
  ): Promise<T> {
    const { timeoutMs } = this;
    if (timeoutMs === undefined) return attempt(cancelToken, number, () => undefined);
    return new Promise((resolve, reject) => {
      const limit = new CancelSource();
      const unsubscribe = cancelWith(limit, cancelToken);
      let timer: Timer | undefined;
      const end = (): void => {
        timer?.cancel();
        unsubscribe();
      };
      const begin = (): void => {
        timer ??= this.#deps.clock.setTimeout(() => {
          const error = new PolicyError(`no result within ${timeoutMs} ms`);
          limit.abort(error);
          end();
          reject(error);
        }, timeoutMs);
      };
      if (!isTimedLater) begin();
      attempt(limit, number, begin).finally(end).then(resolve, reject);
    });
  }
}

function resultOf<T>(outcome: CallResult<T>): T {
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}
