import type { Clock, Timer } from '../../../util/clock.ts';
import { Linked } from '../../../util/linked.ts';
import type { ActiveActor } from './active-actor.ts';

/** The idle actors of one idle time, the longest idle one first. */
interface IdleLine {
  readonly timeoutMs: number;
  readonly actors: Linked<ActiveActor>;
  timer: Timer | undefined;
}

/**
 * Actors without a turn. Their time counts from the end of the last turn, on the clock that nobody can set. Those with
 * the same idle time are in the order in which they became idle, so that one timer is enough for all.
 */
export class IdleActors {
  readonly #clock: Clock;
  readonly #onIdle: (actor: ActiveActor) => void;
  readonly #lines = new Map<number, IdleLine>();
  #isStopped = false;

  constructor(clock: Clock, onIdle: (actor: ActiveActor) => void) {
    this.#clock = clock;
    this.#onIdle = onIdle;
  }

  get #now(): number {
    return this.#clock.monotonic?.() ?? this.#clock.now();
  }

  /** The actor is idle from now on. */
  add(actor: ActiveActor): void {
    if (this.#isStopped) return;
    this.remove(actor);
    const line = this.#lineOf(actor.settings.idleTimeoutMs);
    actor.idleSince = this.#now;
    actor.idle = line.actors.add(actor);
    if (line.timer === undefined) this.#setTimer(line, line.timeoutMs);
  }

  /** The actor is not idle, or is gone. */
  remove(actor: ActiveActor): void {
    if (actor.idle !== undefined) this.#lineOf(actor.settings.idleTimeoutMs).actors.delete(actor.idle);
    actor.idle = undefined;
  }

  #lineOf(timeoutMs: number): IdleLine {
    const present = this.#lines.get(timeoutMs);
    if (present !== undefined) return present;
    const line: IdleLine = { timeoutMs, actors: new Linked(), timer: undefined };
    this.#lines.set(timeoutMs, line);
    return line;
  }

  #setTimer(line: IdleLine, delayMs: number): void {
    line.timer = this.#clock.setTimeout(() => this.#look(line), delayMs);
  }

  #look(line: IdleLine): void {
    line.timer = undefined;
    for (;;) {
      const [actor] = line.actors;
      if (actor === undefined) return;
      const restMs = actor.idleSince + line.timeoutMs - this.#now;
      if (restMs > 0) return this.#setTimer(line, Math.ceil(restMs));
      this.remove(actor);
      this.#onIdle(actor);
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const { timer } of this.#lines.values()) timer?.cancel();
  }
}
