/** A member of {@link Expected}. */
export interface ExpectedOne {
  readonly name: string;
  /** The set that it belongs to. */
  readonly among: Expected;
  /** Whether it has not arrived yet. */
  readonly isExpected: boolean;
  /** Marks all members with its name as arrived. */
  come(): void;
}

/** Participants that are known but have not arrived yet, by name. */
export class Expected {
  readonly #expected = new Set<One>();
  readonly #listeners = new Set<() => void>();

  /** The names, sorted, without duplicates. */
  get names(): readonly string[] {
    return [...new Set([...this.#expected].map(({ name }) => name))].sort();
  }

  add(name: string): ExpectedOne {
    const one = new One(name, this);
    this.#expected.add(one);
    this.#tell();
    return one;
  }

  /** Calls back whenever a participant is added or arrives. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** @internal */
  hasCome(name: string): void {
    for (const one of this.#expected) {
      if (one.name !== name) continue;
      one.isExpected = false;
      this.#expected.delete(one);
    }
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

class One implements ExpectedOne {
  readonly name: string;
  readonly among: Expected;
  isExpected = true;

  constructor(name: string, among: Expected) {
    this.name = name;
    this.among = among;
  }

  come(): void {
    if (this.isExpected) this.among.hasCome(this.name);
  }
}
