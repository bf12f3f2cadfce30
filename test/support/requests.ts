import { AsyncLocalStorage } from 'node:async_hooks';

/** Requests that each keep a value of their own in an AsyncLocalStorage, and in whose code of the user's runs. */
export class Requests {
  readonly #storage = new AsyncLocalStorage<string>();
  readonly #seen = new Map<string, Set<string>>();

  /** Does something as a request does, and checks that it is still in its own context after it. */
  async as<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#storage.run(name, async () => {
      const result = await work();
      if (this.#storage.getStore() !== name) throw new Error(`${name} goes on as ${this.#storage.getStore()}`);
      return result;
    });
  }

  /** Called by code of the user's. */
  readonly note = (what: string): void => {
    const seen = this.#seen.get(what) ?? new Set();
    this.#seen.set(what, seen.add(this.#storage.getStore() ?? 'none'));
  };

  /** What code of the user's may do that belongs to a request. */
  enter(name: string): void {
    this.#storage.enterWith(name);
  }

  /** Which of these have not run. */
  without(kinds: readonly string[]): readonly string[] {
    return kinds.filter((kind) => !this.#seen.has(kind));
  }

  /** Those that have run in some request, with its names. */
  get inRequests(): Readonly<Record<string, readonly string[]>> {
    const inSome = [...this.#seen].filter(([, names]) => [...names].some((name) => name !== 'none'));
    return Object.fromEntries(inSome.map(([what, names]) => [what, [...names].sort()]));
  }

  /** An object, each of whose methods is code of the user's. */
  noting<T extends object>(name: string, target: T): T {
    return new Proxy(target, {
      get: (_target, member) => {
        const value: unknown = Reflect.get(target, member, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          this.note(`${name}.${String(member)}`);
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  }
}
