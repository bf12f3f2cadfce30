/** One of {@link Expected}. */
export interface ExpectedOne {
  readonly name: string;
  /** Those that it is one of. */
  readonly among: Expected;
  /** Whether it has not come yet. */
  readonly isExpected: boolean;
  /** It has come, and so has everybody of its name. */
  come(): void;
}

/** Who is known to come and has not come yet, by name. */
export class Expected {
  readonly #expected = new Set<One>();
  readonly #listeners = new Set<() => void>();

  /** Each name once, in order. */
  get names(): readonly string[] {
    return [...new Set([...this.#expected].map(({ name }) => name))].sort();
  }

  add(name: string): ExpectedOne {
    const one = new One(name, this);
    this.#expected.add(one);
    this.#tell();
    return one;
  }

  /** Calls back whenever somebody is expected or has come. */
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
