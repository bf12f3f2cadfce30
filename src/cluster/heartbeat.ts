import type { StateStore } from '../state/store.ts';
import { type Clock, type DualInstant, dualNow, msSince, type Timer } from '../util/clock.ts';
import type { Liveness } from './liveness.ts';

/** Of a heartbeat: a host that would count as dead so shortly before the next one is looked at then. */
const NEARLY = 0.9;
/**
 * Of a heartbeat: a host whose last beat was longer ago beats when it hears of another's. So all beat at the same time
 * soon, whatever their clocks say: of any two, each hears the other half the interval ago at most, or beats with it.
 */
const TOGETHER = 0.5;
/** So long after a beat, all others have renewed their records: one look sees it. */
const GATHER_MS = 500;
/** A host that is alone looks for others at least so often, since the hint of one may be lost. */
const SOLE_LOOK_MS = 25_000;

/** The dependencies of a {@link Heartbeat}. */
export interface HeartbeatDeps {
  readonly clock: Clock;
  readonly heartbeatMs: number;
  readonly store: Pick<StateStore, 'hints'>;
  readonly liveness: Liveness;
  /** Whether no other host is there. */
  readonly isSole: () => boolean;
  /** Renews the record of this host. If no look follows, it looks at the others as well. */
  readonly onBeat: () => void;
  /** Looks at the others. */
  readonly onLook: () => void;
}

/** The times at which a host renews its record and looks at others: periodically, and when one counts as dead. */
export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  #beat: Timer | undefined;
  /** When the interval began that ends with the next beat. */
  #since: DualInstant | undefined;
  #silence: Timer | undefined;
  #look: Timer | undefined;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
  }

  /** Waits for the next time, after a look at the hosts. */
  next(ownId: string): void {
    const { clock, heartbeatMs, liveness, onLook } = this.#deps;
    const now = dualNow(clock);
    if (this.#beat === undefined) {
      this.#since = now;
      this.#beat = clock.setTimeout(() => this.#beats(), heartbeatMs);
    }
    this.#silence?.cancel();
    const deadInMs = liveness.deadInMs(now, ownId);
    this.#silence = deadInMs < heartbeatMs * NEARLY ? clock.setTimeout(onLook, Math.ceil(deadInMs)) : undefined;
  }

  #beats(): void {
    const { clock, store, onBeat } = this.#deps;
    this.#beat?.cancel();
    this.#beat = undefined;
    this.#look?.cancel();
    // Without hints, others renew their records at other times.
    this.#look = store.hints === 'all' ? clock.setTimeout(() => this.#looks(), GATHER_MS) : undefined;
    onBeat();
  }

  #looks(): void {
    const { clock, liveness, isSole, onLook } = this.#deps;
    this.#look = undefined;
    if (!isSole() || liveness.unreadMs(dualNow(clock)) >= SOLE_LOOK_MS) onLook();
  }

  /** A hint says that another host has renewed its record. */
  renewed(): void {
    const { clock, heartbeatMs } = this.#deps;
    if (this.#beat === undefined || this.#since === undefined) return;
    if (msSince(this.#since, clock) >= heartbeatMs * TOGETHER) this.#beats();
  }

  /** Whether a look follows the last beat. */
  get isLookDue(): boolean {
    return this.#look !== undefined;
  }

  stop(): void {
    this.#beat?.cancel();
    this.#beat = undefined;
    this.#silence?.cancel();
    this.#look?.cancel();
    this.#look = undefined;
  }
}
