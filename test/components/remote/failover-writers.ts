import { expect, vi } from 'vitest';
import type { StateStore } from '../../../src/state/store.ts';
import { put } from '../../support/embedded-store.ts';

const WRITERS = 8;

/** Writes new entries on a store in several loops, until one fails, and remembers what was acknowledged. */
export class FailoverWriters {
  /** The version of each acknowledged entry. */
  readonly acknowledged = new Map<string, number>();
  readonly errors: unknown[] = [];
  readonly #store: StateStore;
  readonly #loops: Promise<void>[];
  #isOver = false;

  constructor(store: StateStore) {
    this.#store = store;
    this.#loops = Array.from({ length: WRITERS }, (_, writer) => this.#write(`entry/${writer}`));
  }

  async #write(name: string): Promise<void> {
    for (let round = 0; !this.#isOver; round++) {
      const key = `${name}/${round}`;
      const batch = { require: [{ key, version: 'absent' as const }], put: [put(key)] };
      try {
        this.acknowledged.set(key, await this.#store.commit(batch));
      } catch (error) {
        this.errors.push(error);
        return;
      }
    }
  }

  /** Waits until so many more are acknowledged. */
  async more(count: number): Promise<void> {
    const wanted = this.acknowledged.size + count;
    await vi.waitFor(() => expect(this.acknowledged.size).toBeGreaterThanOrEqual(wanted), { timeout: 30_000 });
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  /** The acknowledged entries that the store does not have, or has at another version. */
  async lost(): Promise<readonly string[]> {
    const present = new Map((await this.#store.scan({ from: 'entry/', to: 'entry0' })).map((e) => [e.key, e.version]));
    return [...this.acknowledged].filter(([key, version]) => present.get(key) !== version).map(([key]) => key);
  }
}

/** Takes a fence: the version of an entry that the next holder changes. */
export async function takeFence(store: StateStore): Promise<number> {
  const version = (await store.get('fence'))?.version ?? 'absent';
  return store.commit({ require: [{ key: 'fence', version }], put: [put('fence')] });
}

/** Writes under a fence. */
export function writeUnder(store: StateStore, version: number, key: string): Promise<number> {
  return store.commit({ require: [{ key: 'fence', version }], put: [put(key)] });
}
