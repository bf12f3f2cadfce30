import { SidecarError } from '../../errors.ts';

/** Wrong tokens that an address may send within the time. */
const MAX_GUESSES = 20;
const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 1_000;

interface Guesses {
  count: number;
  readonly endsAt: number;
}

/** Limits guesses of a token by the address that they come from. */
export class GuessLimit {
  readonly #now: () => number;
  /** By address, in the order of their first guess. */
  readonly #byAddress = new Map<string, Guesses>();

  /** @param now - milliseconds of a clock that is never set back */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @throws SidecarError of status 429 if no more tokens of the address are looked at. */
  check(address: string): void {
    const guesses = this.#byAddress.get(address);
    if (guesses === undefined || guesses.count < MAX_GUESSES) return;
    const leftMs = guesses.endsAt - this.#now();
    if (leftMs <= 0) return;
    const seconds = Math.ceil(leftMs / 1000);
    throw new SidecarError('ERR_UNAUTHORIZED', `too many wrong tokens: try again in ${seconds} s`, {
      status: 429,
      headers: { 'retry-after': String(seconds) },
    });
  }

  /** Counts a wrong token. */
  count(address: string): void {
    const now = this.#now();
    const guesses = this.#byAddress.get(address);
    if (guesses !== undefined && guesses.endsAt > now) {
      guesses.count++;
      return;
    }
    this.#byAddress.delete(address);
    const [oldest] = this.#byAddress.keys();
    if (oldest !== undefined && this.#byAddress.size >= MAX_ADDRESSES) this.#byAddress.delete(oldest);
    this.#byAddress.set(address, { count: 1, endsAt: now + WINDOW_MS });
  }
}
