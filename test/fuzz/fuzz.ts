import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Session, Target } from './portion.ts';

/** How long to fuzz, and from where. */
export interface Budget {
  /** Seeds that come first. Default: none. */
  readonly kept?: readonly number[];
  /** The seed of the next portion; the following ones have the following seeds. */
  readonly seed: number;
  /** When it is over, no further portion begins; that of `seed` is always tried. */
  readonly forMs: number;
  /** Portions from `seed` on, at most. Default: no limit. */
  readonly portions?: number;
}

/** What was tried. */
export interface Tally {
  readonly target: string;
  readonly cases: number;
  readonly seconds: number;
  readonly notes: readonly string[];
}

/** Errors that nobody has caught, from now on. */
class Uncaught implements Disposable {
  readonly errors: unknown[] = [];
  readonly #keep = (error: unknown): void => void this.errors.push(error);

  constructor() {
    process.on('uncaughtException', this.#keep).on('unhandledRejection', this.#keep);
  }

  [Symbol.dispose](): void {
    process.off('uncaughtException', this.#keep).off('unhandledRejection', this.#keep);
  }

  throwFirst(): void {
    const [first] = this.errors;
    if (first !== undefined) throw new Error('an error was not caught', { cause: first });
  }
}

/** Fuzzes a target until its time is over. @throws Error with what failed first, and its seed */
export async function fuzz(target: Target, budget: Budget): Promise<Tally> {
  const startedAt = performance.now();
  using uncaught = new Uncaught();
  await using session: Session = await target.open();
  let cases = 0;
  for (const seed of seedsOf(budget, startedAt)) {
    try {
      cases += await session.try(seed);
      // What a WeakRef was asked for stays in memory until the turn is over: a package that vets patterns uses them.
      await nextTurn();
      uncaught.throwFirst();
    } catch (error) {
      throw new Error(`${target.name}, after ${cases} cases: ${messageOf(error)}`, { cause: error });
    }
  }
  await session.finish?.();
  uncaught.throwFirst();
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  return { target: target.name, cases, seconds, notes: session.notes?.() ?? [] };
}

function* seedsOf(
  { kept = [], seed, forMs, portions = Number.POSITIVE_INFINITY }: Budget,
  startedAt: number,
): Generator<number> {
  yield* kept;
  for (let portion = 0; portion < portions; portion++) {
    if (portion > 0 && performance.now() - startedAt > forMs) return;
    yield seed + portion;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
