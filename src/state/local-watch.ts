import type { Logger } from '../util/logger.ts';

interface Watcher {
  readonly prefix: string;
  readonly onChange: (keys: readonly string[]) => void;
}

/** The watchers of a store within this process. Costs nothing without watchers. */
export class LocalWatch {
  readonly #watchers = new Set<Watcher>();
  readonly #logger: Logger;
  #changed: string[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get active(): boolean {
    return this.#watchers.size > 0;
  }

  add(prefix: string, onChange: (keys: readonly string[]) => void): Disposable {
    const watcher = { prefix, onChange };
    this.#watchers.add(watcher);
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) };
  }

  /** Notifies of changed keys in a microtask, together with other changes of the same turn of the event loop. */
  notify(keys: Iterable<string>): void {
    if (!this.active) return;
    if (this.#changed.length === 0) queueMicrotask(() => this.#tell());
    for (const key of keys) this.#changed.push(key);
  }

  #tell(): void {
    const changed = this.#changed;
    this.#changed = [];
    // A copy, because a callback may add or remove watchers.
    for (const watcher of [...this.#watchers]) {
      const keys = changed.filter((key) => key.startsWith(watcher.prefix));
      if (keys.length > 0 && this.#watchers.has(watcher)) this.#call(watcher, keys);
    }
  }

  #call(watcher: Watcher, keys: readonly string[]): void {
    try {
      watcher.onChange(keys);
    } catch (error) {
      this.#logger.error({ prefix: watcher.prefix, error }, 'a callback of StateStore.watch threw');
    }
  }

  clear(): void {
    this.#watchers.clear();
    this.#changed = [];
  }
}
