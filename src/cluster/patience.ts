import { messageOf } from '../errors.ts';
import { isStateError, StateError } from '../state/errors.ts';
import type { StateStore } from '../state/store.ts';
import { type Clock, sleep } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { clearInterval, setInterval, setTimeout } from '../util/timers.ts';

/** How often to look whether the store works, in real time. */
const LOOK_MS = 20;
/** How long to wait before the next try of what a start could not do. */
const RETRY_MS = 1_000;

/** How long to wait for an answer of the store, in milliseconds of real time. */
interface WaitLimits {
  /** After its last answer, if it is said to work. */
  readonly silenceMs: number;
  /** If it is known not to work. */
  readonly failingMs: number;
}

/** A store that is down is not waited for: its opening has taken long enough. */
export const AT_START: WaitLimits = { silenceMs: 3_000, failingMs: 0 };
/** Like `AT_START`, for waits that depend on more than the store: silence is no failure. */
export const WHILE_IT_WORKS: WaitLimits = { silenceMs: Number.POSITIVE_INFINITY, failingMs: 0 };
/**
 * A store that is only slow answers sooner: hosts that renew their records more slowly would count as dead. A server that
 * is restarted may be back in time.
 */
const AT_STOP: WaitLimits = { silenceMs: 5_000, failingMs: 2_000 };

/** A call of the store that is not answered. */
interface OpenCall {
  readonly since: number;
  readonly reject: (error: Error) => void;
}

/** The dependencies of a {@link Patience}. */
export interface PatienceDeps {
  readonly store: Pick<StateStore, 'failure' | 'isExclusive'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Registers work that tests wait for. Call the returned function at its end. */
  readonly track: (what: string) => () => void;
  /** Fires when no work is in flight any more. */
  readonly leaving: AbortSignal;
}

/**
 * How long a host waits for its store at its start and its stop: as long as that answers. The rest of a start is done
 * as soon as the store works. The rest of a stop is left undone: other hosts take over when the lease ends. A store
 * that only one process can have open is always waited for: it answers, or is lost.
 */
export class Patience {
  readonly #deps: PatienceDeps;
  readonly #stopping = new AbortController();
  readonly #calls = new Set<OpenCall>();
  #answeredAt = Number.NEGATIVE_INFINITY;
  /** How much of a start is under way that it does not wait for any more. */
  #unawaited = 0;
  #looking: NodeJS.Timeout | undefined;
  #gaveUpAt = Number.NEGATIVE_INFINITY;

  constructor(deps: PatienceDeps) {
    this.#deps = deps;
  }

  /** Whether calls have to be noted. */
  get isLimited(): boolean {
    return this.#deps.store.isExclusive !== true;
  }

  /** Notes a call of the store, which a stop may give up. */
  note<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const call = { since: performance.now(), reject };
      this.#calls.add(call);
      const settle = (): void => {
        this.#calls.delete(call);
        resolve(answer);
      };
      answer.then(() => {
        this.#answeredAt = performance.now();
        settle();
      }, settle);
    });
  }

  /**
   * Waits for the end of work at a start, and answers true. Answers false when the store does not respond: the work then
   * goes on, and has to report its own failure. Rejects as the work does.
   */
  async waitFor(work: Promise<unknown> | undefined, limits: WaitLimits): Promise<boolean> {
    if (work === undefined) return true;
    if (!this.isLimited) return work.then(() => true);
    const ended = new AbortController();
    const done = work.then(() => true).finally(() => ended.abort());
    if (await Promise.race([done, this.#silence(limits, ended.signal)])) return true;
    this.#unawaited++;
    void done.catch(() => false).finally(() => this.#unawaited--);
    return false;
  }

  /** Resolves with false when the store has not answered for too long. */
  async #silence({ silenceMs, failingMs }: WaitLimits, ended: AbortSignal): Promise<false> {
    const since = performance.now();
    // The first look comes after what needs no answer of the store.
    for (let looks = 0; ; looks++) {
      await new Promise((resolve) => setTimeout(resolve, looks === 0 ? 0 : LOOK_MS));
      if (ended.aborted) return new Promise(() => undefined);
      const isDown = this.#unawaited > 0 || this.#deps.store.failure !== undefined;
      if (performance.now() - Math.max(since, this.#answeredAt) >= (isDown ? failingMs : silenceMs)) return false;
    }
  }

  /**
   * Does something that a start needs from the store. If the store does not respond, resolves all the same, and tries
   * again until it is done, or the host stops. Rejects as `work` does.
   *
   * @param what - for the log: `jobs defined in code`
   */
  async begin(what: string, work: () => Promise<unknown>): Promise<void> {
    const first = work();
    try {
      if (await this.waitFor(first, AT_START)) return;
    } catch (error) {
      if (!this.isOutage(error)) throw error;
    }
    void this.#repeat(what, work, first);
  }

  /** Whether an error is due to a store that does not work now. */
  isOutage(error: unknown): boolean {
    const { failure } = this.#deps.store;
    return this.isLimited && isStateError(failure) && isStateError(error) && error.kind === failure.kind;
  }

  async #repeat(what: string, work: () => Promise<unknown>, first: Promise<unknown>): Promise<void> {
    const { clock, logger, track } = this.#deps;
    const { signal } = this.#stopping;
    let told = '';
    for (let tries = 1; !signal.aborted; tries++) {
      const done = track(what);
      try {
        await (tries === 1 ? first : work());
        return;
      } catch (error) {
        const isNew = tries === 1 || (!this.isOutage(error) && messageOf(error) !== told);
        told = messageOf(error);
        if (isNew && !signal.aborted) logger.error({ error }, `${what} must wait for the state store`);
      } finally {
        done();
      }
      await sleep(clock, RETRY_MS, signal).catch(() => undefined);
    }
  }

  /** The host begins to stop. From now on, calls that the store does not answer are given up. */
  beginStop(): void {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort(new Error('the sidecar is stopping'));
    const since = performance.now();
    if (this.isLimited) this.#looking = setInterval(() => this.#giveUp(since), LOOK_MS).unref();
  }

  #giveUp(stoppingSince: number): void {
    const { failure } = this.#deps.store;
    const { silenceMs, failingMs } = AT_STOP;
    // Work in flight may still have something to record, each in its time; a host that leaves waits once.
    const hasGivenUp = this.#gaveUpAt > this.#answeredAt;
    const whileDownMs = hasGivenUp && this.#deps.leaving.aborted ? 0 : failingMs;
    const isDown = failure !== undefined || hasGivenUp;
    const [waitMs, answeredAt] = isDown ? [whileDownMs, 0] : [silenceMs, this.#answeredAt];
    const now = performance.now();
    for (const call of [...this.#calls]) {
      if (now - Math.max(stoppingSince, call.since, answeredAt) < waitMs) continue;
      this.#gaveUpAt = now;
      this.#calls.delete(call);
      // `failed`: a commit may be written all the same.
      const why = failure?.message ?? `it has not answered for ${waitMs} ms`;
      call.reject(new StateError('failed', `A stop gave up waiting for the state store: ${why}`, failure));
    }
  }

  /** The host has left. */
  end(): void {
    clearInterval(this.#looking);
  }
}
