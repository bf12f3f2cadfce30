import { Deque } from '../../../util/deque.ts';

/** Max turns started per event loop tick. */
const TURNS_PER_TICK = 256;

/** A source of turns. */
export interface Turning {
  /** Takes one turn and calls `ended()` on the queue afterwards. Must not reject. */
  turn(): Promise<void>;
}

/** Runs turns with limited concurrency, and yields to the event loop so that I/O does not starve. */
export class TurnQueue {
  readonly #limit: number;
  readonly #ready = new Deque<Turning>();
  #running = 0;
  #begunInTick = 0;
  #isTickAwaited = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Queues a turn to run as soon as the limit allows. */
  push(turning: Turning): void {
    this.#ready.push(turning);
    this.#pump();
  }

  /** A turn has ended. */
  ended(): void {
    this.#running--;
    this.#pump();
  }

  #pump(): void {
    while (this.#running < this.#limit && this.#ready.length > 0) {
      if (this.#begunInTick >= TURNS_PER_TICK) return;
      this.#begunInTick++;
      this.#awaitTick();
      this.#running++;
      void this.#ready.shift()?.turn();
    }
  }

  #awaitTick(): void {
    if (this.#isTickAwaited) return;
    this.#isTickAwaited = true;
    setImmediate(() => {
      this.#isTickAwaited = false;
      this.#begunInTick = 0;
      this.#pump();
    });
  }
}
