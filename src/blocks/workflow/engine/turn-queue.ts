import { Deque } from '../../../util/deque.ts';

/** So many turns begin before everything else in the process has its turn. */
const TURNS_PER_TICK = 256;

/** What has turns. */
export interface Turning {
  /** Takes one turn; tells the queue when it has ended. Must not reject. */
  turn(): Promise<void>;
}

/** Runs turns: not too many at a time, and never so many in a row that the process hears of nothing else. */
export class TurnQueue {
  readonly #limit: number;
  readonly #ready = new Deque<Turning>();
  #running = 0;
  #begunInTick = 0;
  #isTickAwaited = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Has a turn taken as soon as there is room. */
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
