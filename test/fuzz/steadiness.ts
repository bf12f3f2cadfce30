import { collectGarbage } from '../support/garbage.ts';

/** What a run may keep: caches that fill late, compiled code. */
const MAX_GROWTH_BYTES = 40 * 1024 * 1024;
const MAX_MORE_HANDLES = 20;
const SETTLING_MS = 10_000;

/** Compares heap and handles at the end with those after the first portions. */
export class Steadiness {
  #heapAtFirst: number | undefined;
  #handlesAtFirst = 0;
  #notes: readonly string[] = [];

  async begin(): Promise<void> {
    this.#heapAtFirst = await leastHeap();
    this.#handlesAtFirst = handles();
  }

  /** @throws Error when there is more than a run may keep */
  async check(): Promise<void> {
    if (this.#heapAtFirst === undefined) return;
    const bound = this.#handlesAtFirst + MAX_MORE_HANDLES;
    const deadline = performance.now() + SETTLING_MS;
    while (handles() > bound && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
    const heap = await leastHeap();
    this.#notes = [
      `heap ${inMib(this.#heapAtFirst)} MiB after the first portions, ${inMib(heap)} MiB at the end`,
      `handles ${this.#handlesAtFirst} and ${handles()}`,
    ];
    if (heap - this.#heapAtFirst > MAX_GROWTH_BYTES || handles() > bound) throw new Error(this.#notes.join('; '));
  }

  notes(): readonly string[] {
    return this.#notes;
  }
}

/** The heap after garbage collections, with what is under way at an end. */
async function leastHeap(): Promise<number> {
  for (let times = 0; times < 4; times++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return process.memoryUsage().heapUsed;
}

function handles(): number {
  return process.getActiveResourcesInfo().length;
}

function inMib(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
