import { type Clock, dualNow, type Timer } from '../util/clock.ts';
import type { Liveness } from './liveness.ts';

/** Of a heartbeat: a host that would count as dead so shortly before the next one is looked at then. */
const NEARLY = 0.9;

/** The dependencies of a {@link Heartbeat}. */
export interface HeartbeatDeps {
  readonly clock: Clock;
  readonly heartbeatMs: number;
  readonly liveness: Liveness;
  /** Renews the record of this host, and looks at the others. */
  readonly onBeat: () => void;
  /** A host may have died: looks at the others. */
  readonly onSilence: () => void;
}

/** The times at which a host renews its record and looks at others: periodically, and when one counts as dead. */
export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  #beat: Timer | undefined;
  #silence: Timer | undefined;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
  }

  /** Waits for the next time, after a look at the hosts. */
  next(ownId: string): void {
    const { clock, heartbeatMs, liveness, onBeat, onSilence } = this.#deps;
    this.#beat ??= clock.setTimeout(() => {
      this.#beat = undefined;
      onBeat();
    }, heartbeatMs);
    this.#silence?.cancel();
    const deadInMs = liveness.deadInMs(dualNow(clock), ownId);
    this.#silence = deadInMs < heartbeatMs * NEARLY ? clock.setTimeout(onSilence, Math.ceil(deadInMs)) : undefined;
  }

  stop(): void {
    this.#beat?.cancel();
    this.#beat = undefined;
    this.#silence?.cancel();
  }
}
