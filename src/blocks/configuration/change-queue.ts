import type { ConfigurationItem } from '../../components/configuration-store.ts';

/** A change that waits for the code. `taken` ends the wait of `offer`. */
interface Offer {
  readonly key: string;
  readonly item: ConfigurationItem | undefined;
  readonly taken: () => void;
}

/**
 * Changes that wait for code to take them. The next change of a key is offered when the code takes another one after it:
 * until then it is busy, and changes of the key become one.
 */
export class ChangeQueue {
  readonly #offers: Offer[] = [];
  /** The change that the code works on. */
  #current: Offer | undefined;
  #wake: (() => void) | undefined;
  #hasEnded = false;

  /** Offers a change; resolves when the code is done with it, or the queue has ended. */
  offer(key: string, item: ConfigurationItem | undefined): Promise<void> {
    if (this.#hasEnded) return Promise.resolve();
    return new Promise((taken) => {
      this.#offers.push({ key, item, taken });
      this.#wake?.();
    });
  }

  /** Takes the next change; `undefined` once the queue has ended. */
  async take(): Promise<{ readonly key: string; readonly item: ConfigurationItem | undefined } | undefined> {
    this.#current?.taken();
    this.#current = undefined;
    for (;;) {
      if (this.#hasEnded) return undefined;
      this.#current = this.#offers.shift();
      if (this.#current !== undefined) return this.#current;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  end(): void {
    this.#hasEnded = true;
    this.#current?.taken();
    for (const { taken } of this.#offers.splice(0)) taken();
    this.#wake?.();
  }
}
