import type { Logger } from '../util/logger.ts';
import { checkIntact } from './damaged-value.ts';
import { isStateError, type StateErrorKind } from './errors.ts';
import type { KeyedEntry } from './store.ts';

/** How many entries are remembered as logged. */
const MAX_LOGGED = 1_000;
/** The errors of one value. A store that cannot be read at all is no damage of an entry. */
const DAMAGES: ReadonlySet<StateErrorKind> = new Set(['corrupt', 'newer-format']);

/** Whether an error says that stored data cannot be read, not that the store does not work. */
export function isDamage(error: unknown): boolean {
  return isStateError(error) && DAMAGES.has(error.kind);
}

/** Passes over entries that cannot be read, so that one damaged entry holds up no other; logs each of them once. */
export class Damages {
  readonly #logger: Logger;
  readonly #message: string;
  readonly #logged = new Set<string>();

  /** @param message - what the log says of an entry */
  constructor(logger: Logger, message: string) {
    this.#logger = logger;
    this.#message = message;
  }

  /** The value that `read` makes of an entry; `undefined` if the entry is damaged, or of a newer release. */
  read<T>(entry: KeyedEntry, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      return this.#passOver(entry, error);
    }
  }

  /** The entries whose values the store has not found damaged. */
  intact(entries: readonly KeyedEntry[]): readonly KeyedEntry[] {
    return entries.filter((entry) => this.#isIntact(entry));
  }

  #isIntact(entry: KeyedEntry): boolean {
    const read = (): true => {
      checkIntact(entry.value);
      return true;
    };
    return this.read(entry, read) ?? false;
  }

  /** Like `read`, for readers that load further entries. */
  async readLater<T>(entry: KeyedEntry, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      return this.#passOver(entry, error);
    }
  }

  #passOver({ key, version }: KeyedEntry, error: unknown): undefined {
    if (!isDamage(error)) throw error;
    const entry = `${key} ${version}`;
    if (!this.#logged.has(entry)) this.#logger.error({ key, error }, this.#message);
    if (this.#logged.size < MAX_LOGGED) this.#logged.add(entry);
    return undefined;
  }
}
