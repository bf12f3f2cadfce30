import type { Logger } from '../util/logger.ts';
import type { StateStore } from './store.ts';

/** Called with the changes that a watcher waits for. */
export type OnChange = Parameters<StateStore['watch']>[1];

interface Watcher {
  readonly prefix: string;
  readonly onChange: OnChange;
}

/** Keys that one user of the store has changed. */
interface Changed {
  readonly keys: string[];
  readonly by: object | undefined;
}

/** The watchers of a store within this process, found by prefix. Costs nothing without watchers. */
export class LocalWatch {
  /** By the length of the prefix, then by the prefix. */
  readonly #byLength = new Map<number, Map<string, Set<Watcher>>>();
  readonly #logger: Logger;
  #changed: Changed[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Whether there are watchers. */
  get active(): boolean {
    return this.#byLength.size > 0;
  }

  add(prefix: string, onChange: OnChange): Disposable {
    const watcher = { prefix, onChange };
    const byPrefix = this.#byLength.get(prefix.length) ?? new Map<string, Set<Watcher>>();
    const watchers = byPrefix.get(prefix) ?? new Set();
    this.#byLength.set(prefix.length, byPrefix.set(prefix, watchers.add(watcher)));
    return { [Symbol.dispose]: () => this.#remove(watcher) };
  }

  #remove(watcher: Watcher): void {
    const { prefix } = watcher;
    const byPrefix = this.#byLength.get(prefix.length);
    const watchers = byPrefix?.get(prefix);
    watchers?.delete(watcher);
    if (watchers?.size === 0) byPrefix?.delete(prefix);
    if (byPrefix?.size === 0) this.#byLength.delete(prefix.length);
  }

  /**
   * Calls watchers back, soon: one call for all keys that one user of the store changes in one turn of the
   * event loop.
   */
  notify(keys: Iterable<string>, by?: object): void {
    if (!this.active) return;
    if (this.#changed.length === 0) queueMicrotask(() => this.#callWatchers());
    let last = this.#changed.at(-1);
    if (last === undefined || last.by !== by) {
      last = { keys: [], by };
      this.#changed.push(last);
    }
    for (const key of keys) last.keys.push(key);
  }

  /** Calls all watchers back without keys: they may have missed changes. */
  notifyMissed(): void {
    for (const byPrefix of [...this.#byLength.values()])
      for (const watchers of [...byPrefix.values()])
        for (const watcher of [...watchers]) if (this.#has(watcher)) this.#call(watcher, [], undefined);
  }

  #callWatchers(): void {
    const changed = this.#changed;
    this.#changed = [];
    // A callback may remove watchers.
    for (const { keys: all, by } of changed)
      for (const [watcher, keys] of this.#watchersOf(all)) if (this.#has(watcher)) this.#call(watcher, keys, by);
  }

  #watchersOf(keys: readonly string[]): ReadonlyMap<Watcher, readonly string[]> {
    const found = new Map<Watcher, string[]>();
    for (const key of keys) {
      for (const [length, byPrefix] of this.#byLength) {
        for (const watcher of byPrefix.get(key.slice(0, length)) ?? []) {
          const own = found.get(watcher);
          if (own === undefined) found.set(watcher, [key]);
          else own.push(key);
        }
      }
    }
    return found;
  }

  #has(watcher: Watcher): boolean {
    return this.#byLength.get(watcher.prefix.length)?.get(watcher.prefix)?.has(watcher) === true;
  }

  #call(watcher: Watcher, keys: readonly string[], by: object | undefined): void {
    try {
      watcher.onChange(keys, by);
    } catch (error) {
      this.#logger.error({ prefix: watcher.prefix, error }, 'a callback of StateStore.watch threw');
    }
  }

  /** Removes all watchers. */
  clear(): void {
    this.#byLength.clear();
    this.#changed = [];
  }
}
