import type { Clock } from '../util/clock.ts';

/** What a circuit breaker lets through: everything, nothing, a few attempts to see whether things are well. @public */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** What a breaker has counted since its last change of state, or since its interval began. */
export interface Counts {
  requests: number;
  totalSuccesses: number;
  totalFailures: number;
  consecutiveSuccesses: number;
  consecutiveFailures: number;
}

/** A circuit breaker policy, checked and with its defaults. */
export interface BreakerSettings {
  /** Attempts that are let through when it is half-open; as many successes close it. */
  readonly maxRequests: number;
  /** How often the counts are reset while it is closed; 0 for never. */
  readonly intervalMs: number;
  /** How long it stays open. */
  readonly timeoutMs: number;
  /** Whether it opens, asked after a failure. */
  readonly trips: (counts: Readonly<Counts>) => boolean;
}

/** How an attempt has ended, as far as a breaker is concerned; one that was given up says nothing of the target. */
export type Ending = 'success' | 'failure' | 'abandoned';

/** Leave to make an attempt. It names the period in which it was given: what ends in a later one is not counted. */
export type Pass = number;

/**
 * A circuit breaker. It has no timers: what time has changed is seen when somebody asks. Whoever waits for it hears of
 * changes that calls bring about, and asks again at {@link CircuitBreaker.changesAt}.
 */
export class CircuitBreaker {
  readonly #settings: BreakerSettings;
  readonly #clock: Clock;
  readonly #tell: (from: BreakerState, to: BreakerState) => void;
  readonly #listeners = new Set<() => void>();
  #state: BreakerState = 'closed';
  #period = 0;
  #counts = noCounts();
  #endsAt: number;

  constructor(settings: BreakerSettings, clock: Clock, tell: (from: BreakerState, to: BreakerState) => void) {
    this.#settings = settings;
    this.#clock = clock;
    this.#tell = tell;
    this.#endsAt = this.#endOfPeriod();
  }

  /** Its state now. */
  get state(): BreakerState {
    this.#passTime();
    return this.#state;
  }

  /** The instant from which it lets attempts through again without anybody's doing; infinity when there is none. */
  get changesAt(): number {
    return this.state === 'closed' ? Number.POSITIVE_INFINITY : this.#endsAt;
  }

  /** Whether an attempt is let through now. */
  get isFree(): boolean {
    const { state } = this;
    return state === 'closed' || (state === 'half-open' && this.#counts.requests < this.#settings.maxRequests);
  }

  /**
   * Begins an attempt.
   *
   * @throws Error `circuit breaker is open`, or `too many requests` when it is half-open and tries others.
   */
  enter(): Pass {
    if (!this.isFree) throw new Error(this.#state === 'open' ? 'circuit breaker is open' : 'too many requests');
    this.#counts.requests++;
    return this.#period;
  }

  /** Ends an attempt. */
  leave(pass: Pass, ending: Ending): void {
    this.#passTime();
    if (pass !== this.#period) return;
    const counts = this.#counts;
    if (ending === 'abandoned') counts.requests--;
    else if (ending === 'success') this.#succeed(counts);
    else this.#fail(counts);
    if (this.#state === 'half-open') this.#notify();
  }

  /** Calls back when attempts may be let through that were not; call what it returns to hear no more. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #succeed(counts: Counts): void {
    counts.totalSuccesses++;
    counts.consecutiveSuccesses++;
    counts.consecutiveFailures = 0;
    const isWell = this.#state === 'half-open' && counts.consecutiveSuccesses >= this.#settings.maxRequests;
    if (isWell) this.#become('closed');
  }

  #fail(counts: Counts): void {
    counts.totalFailures++;
    counts.consecutiveFailures++;
    counts.consecutiveSuccesses = 0;
    if (this.#state === 'half-open' || this.#settings.trips(counts)) this.#become('open');
  }

  #passTime(): void {
    if (this.#clock.now() < this.#endsAt) return;
    if (this.#state === 'open') this.#become('half-open');
    // Half-open for that long: the attempts that were let through hang, and others are needed to find out.
    else this.#begin();
  }

  #become(state: BreakerState): void {
    const before = this.#state;
    this.#state = state;
    this.#begin();
    this.#tell(before, state);
    this.#notify();
  }

  #begin(): void {
    this.#period++;
    this.#counts = noCounts();
    this.#endsAt = this.#endOfPeriod();
  }

  #endOfPeriod(): number {
    const { intervalMs, timeoutMs } = this.#settings;
    const lengthMs = this.#state === 'closed' ? intervalMs || Number.POSITIVE_INFINITY : timeoutMs;
    return this.#clock.now() + lengthMs;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

function noCounts(): Counts {
  return { requests: 0, totalSuccesses: 0, totalFailures: 0, consecutiveSuccesses: 0, consecutiveFailures: 0 };
}
