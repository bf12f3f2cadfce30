import { type Clock, dualNow, type Timer } from '../util/clock.ts';
import type { Liveness } from './liveness.ts';

/** Of a heartbeat: a host that would count as dead so shortly before the next one is looked at then. */
const NEARLY = 0.9;
/** Of a heartbeat: records that changed within it need no look. The rest is for beats that come late. */
const SEEN = 0.9;
/** At least so long after a look, others have renewed their records: one look for many hosts. */
const GATHER_MS = 1_000;

/** The dependencies of a {@link Heartbeat}. */
export interface HeartbeatDeps {
  readonly clock: Clock;
  readonly heartbeatMs: number;
  readonly liveness: Liveness;
  /** Renews the record of this host, and looks at the others. */
  readonly onBeat: () => void;
  /** Looks at the others: one may have died, or has renewed its record. */
  readonly onLook: () => void;
}

/** The times at which a host renews its record and looks at others: periodically, and when one counts as dead. */
export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  #beat: Timer | undefined;
  #silence: Timer | undefined;
  #renewal: Timer | undefined;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
  }

  /** Waits for the next time, after a look at the hosts. */
  next(ownId: string): void {
    const { clock, heartbeatMs, liveness, onBeat, onLook } = this.#deps;
    this.#beat ??= clock.setTimeout(() => {
      this.#beat = undefined;
      onBeat();
    }, heartbeatMs);
    this.#silence?.cancel();
    const deadInMs = liveness.deadInMs(dualNow(clock), ownId);
    this.#silence = deadInMs < heartbeatMs * NEARLY ? clock.setTimeout(onLook, Math.ceil(deadInMs)) : undefined;
  }

  /** A hint says that another host has renewed its record: a look soon dates that. */
  renewed(): void {
    const { clock, liveness, onLook } = this.#deps;
    const delayMs = GATHER_MS - liveness.unreadMs(dualNow(clock));
    if (delayMs <= 0) return onLook();
    this.#renewal ??= clock.setTimeout(() => {
      this.#renewal = undefined;
      onLook();
    }, delayMs);
  }

  /** Whether all other hosts were seen so recently that this beat needs no look. */
  areAllSeen(ownId: string): boolean {
    const { clock, heartbeatMs, liveness } = this.#deps;
    return liveness.seenWithinMs(dualNow(clock), ownId) < heartbeatMs * SEEN;
  }

  stop(): void {
    this.#beat?.cancel();
    this.#beat = undefined;
    this.#silence?.cancel();
    this.#renewal?.cancel();
    this.#renewal = undefined;
  }
}
