import { Deque } from '../../../util/deque.ts';
import { outside } from '../../../util/outside.ts';
import { setImmediate } from '../../../util/timers.ts';

/** Max turns started per event loop tick. Their changes are one commit. */
const TURNS_PER_TICK = 64;
/**
 * While more turns are running, instances that have not begun wait. Several times as many as start in a tick: some turns
 * run while those before them are written. With 1,000 workflows at a time, an eighth to a quarter more of them are done
 * in a second than with 256 in both.
 */
const MAX_RUNNING_FOR_NEW = 256;
/** After so many turns of instances that have begun, the first turn of another one is next. */
const TURNS_PER_NEW = 8;

/** A source of turns. */
export interface Turning {
  /** Whether the code of the instance has begun. */
  readonly hasBegun: boolean;
  /** Takes one turn and calls `ended()` on the queue afterwards. Must not reject. */
  turn(): Promise<void>;
}

/**
 * Runs turns with limited concurrency, and yields to the event loop so that I/O does not starve.
 *
 * Instances that have begun go first, so that as few as possible are halfway through. With 1,000 at a time, that
 * leaves the garbage collector half of the work: most of a turn is garbage before the next collection.
 */
export class TurnQueue {
  readonly #limit: number;
  readonly #begun = new Deque<Turning>();
  readonly #new = new Deque<Turning>();
  #running = 0;
  #startedInTick = 0;
  /** The turns that have gone ahead of the first new instance. */
  #passed = 0;
  #isTickAwaited = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Queues a turn to run as soon as the limit allows. */
  push(turning: Turning): void {
    (turning.hasBegun ? this.#begun : this.#new).push(turning);
    this.#pumpNow();
  }

  /** A turn has ended. */
  ended(): void {
    this.#running--;
    this.#pumpNow();
  }

  /** New instances wait for the next tick: only then it is known which others go on at once. */
  #pumpNow(): void {
    this.#pump(this.#running === 0);
    if (this.#new.length > 0) this.#awaitTick();
  }

  #pump(takesNew: boolean): void {
    while (this.#running < this.#limit && this.#startedInTick < TURNS_PER_TICK) {
      const next = this.#next(takesNew && this.#running < MAX_RUNNING_FOR_NEW);
      if (next === undefined) return;
      this.#startedInTick++;
      this.#running++;
      this.#awaitTick();
      // The code that has pushed one instance may be a request; this is another instance's turn.
      void outside(() => next.turn());
    }
  }

  #next(takesNew: boolean): Turning | undefined {
    if (this.#new.length === 0) return this.#begun.shift();
    const isNewDue = this.#passed >= TURNS_PER_NEW;
    if (isNewDue || (takesNew && this.#begun.length === 0)) {
      this.#passed = 0;
      return this.#new.shift();
    }
    if (this.#begun.length > 0) this.#passed++;
    return this.#begun.shift();
  }

  #awaitTick(): void {
    if (this.#isTickAwaited) return;
    this.#isTickAwaited = true;
    setImmediate(() => {
      this.#isTickAwaited = false;
      this.#startedInTick = 0;
      this.#pump(true);
    });
  }
}
