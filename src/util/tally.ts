/** What a tally is made of. */
export interface TallyDeps {
  /** So many names are told apart; others are not counted. */
  readonly limit: number;
  /** The limit is reached: later names are not counted. */
  readonly onFull: () => void;
}

/** Something that has been counted, and how often. */
export type Counted<T> = T & { readonly count: number };

/** Counts what happens, by name, for the first so many names. */
export class Tally<T extends object> {
  readonly #deps: TallyDeps;
  readonly #counted = new Map<string, Counted<T>>();

  constructor(deps: TallyDeps) {
    this.#deps = deps;
  }

  get(name: string): Counted<T> | undefined {
    return this.#counted.get(name);
  }

  /** Counts something under a name; `onFirst` is called when that is new. What is told of it last is kept. */
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
