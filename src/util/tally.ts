export interface TallyDeps {
  /** Max names; further names are not counted. */
  readonly limit: number;
  /** Called when the limit is reached: later names are not counted. */
  readonly onFull: () => void;
}

/** Information with its count. */
export type Counted<T> = T & { readonly count: number };

/** Counts occurrences by name, up to a maximum number of names. */
export class Tally<T extends object> {
  readonly #deps: TallyDeps;
  readonly #counted = new Map<string, Counted<T>>();

  constructor(deps: TallyDeps) {
    this.#deps = deps;
  }

  get(name: string): Counted<T> | undefined {
    return this.#counted.get(name);
  }

  /** Counts occurrences under a name and keeps the latest information; calls `onFirst` for a new name. */
  add(name: string, what: T, count: number, onFirst: () => void): void {
    const { limit, onFull } = this.#deps;
    const present = this.#counted.get(name);
    if (present === undefined && this.#counted.size >= limit) return;
    this.#counted.set(name, { ...what, count: (present?.count ?? 0) + count });
    if (present !== undefined) return;
    onFirst();
    if (this.#counted.size === limit) onFull();
  }

  list(): readonly Counted<T>[] {
    return [...this.#counted.values()];
  }
}
