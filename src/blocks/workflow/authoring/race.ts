import type { Task } from '../replay/execution.ts';
import { DurablePromise } from './durable-promise.ts';

/** A race of promises that knows its winner. Native ones do not tell which events have lost them. */
export class Race {
  readonly #takesFailures: boolean;
  #isDecided = false;

  /** @param takesFailures - whether a failure decides it */
  private constructor(takesFailures: boolean) {
    this.#takesFailures = takesFailures;
  }

  /** As `Promise.race`. */
  static race<const T extends readonly unknown[]>(values: T): Promise<Awaited<T[number]>> {
    const race = new Race(true);
    return race.#watch(Promise.race(race.#candidatesOf(values)));
  }

  /** As `Promise.any`. */
  static any<const T extends readonly unknown[]>(values: T): Promise<Awaited<T[number]>> {
    const race = new Race(false);
    return race.#watch(Promise.any(race.#candidatesOf(values)));
  }

  /** Safe cast: a candidate has the type of the promise that it stands for. */
  #candidatesOf<T extends readonly unknown[]>(values: T): T {
    return values.map((value) => (value instanceof DurablePromise ? value.inRace(this) : value)) as unknown as T;
  }

  /** Another promise may have won. The handlers also prevent an unhandled rejection while no code waits for the result. */
  #watch<T>(result: Promise<T>): Promise<T> {
    const decide = (): void => {
      this.#isDecided = true;
    };
    result.then(decide, decide);
    return result;
  }

  /** A task of the race is settled: returns whether its result is the one that the race has. */
  takes({ state }: Task): boolean {
    if (this.#isDecided) return false;
    this.#isDecided = state === 'completed' || this.#takesFailures;
    return this.#isDecided;
  }
}
