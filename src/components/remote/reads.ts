import { isStateError, StateError } from '../../state/errors.ts';
import type { Entry, KeyedEntry, KeyRange, Scan } from '../../state/store.ts';
import { ConnectionLostError, type RemoteConnection, RetryableError } from './connection.ts';
import type { RemoteLink } from './remote-link.ts';

interface WaitingGet {
  readonly key: string;
  readonly resolve: (entry: Entry | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The dependencies of {@link RemoteReads}. */
export interface ReadsDeps {
  readonly link: RemoteLink;
  /** After this time, an unsuccessful read rejects. */
  readonly timeoutMs: number;
  /** Called after each call with its failure, if it has failed. */
  readonly onOutcome: (failure: StateError | undefined) => void;
}

/** Reads from the server; sends reads of one event loop tick together, and repeats them after a lost connection. */
export class RemoteReads {
  readonly #deps: ReadsDeps;
  #gets: WaitingGet[] = [];
  #underWay = 0;
  #idle: (() => void)[] = [];

  constructor(deps: ReadsDeps) {
    this.#deps = deps;
  }

  get(key: string): Promise<Entry | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#gets.push({ key, resolve, reject }) === 1) setImmediate(() => void this.#flush());
    });
  }

  async #flush(): Promise<void> {
    const gets = this.#gets;
    this.#gets = [];
    try {
      const keys = gets.map(({ key }) => key);
      const entries = await this.#call((connection) => connection.get(keys));
      for (const [index, { resolve }] of gets.entries()) resolve(entries[index]);
    } catch (error) {
      for (const { reject } of gets) reject(error);
    }
  }

  /** All from one state of the store: in one call. */
  getAll(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    return this.#call((connection) => connection.get(keys));
  }

  scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    return this.#call((connection) => connection.scan(scan));
  }

  count(range: KeyRange, limit: number): Promise<number> {
    return this.#call((connection) => connection.count(range, limit));
  }

  async #call<T>(work: (connection: RemoteConnection) => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      const result = await this.#repeat(work);
      this.#deps.onOutcome(undefined);
      return result;
    } catch (error) {
      if (isStateError(error)) this.#deps.onOutcome(error);
      throw error;
    } finally {
      if (--this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  async #repeat<T>(work: (connection: RemoteConnection) => Promise<T>): Promise<T> {
    const until = performance.now() + this.#deps.timeoutMs;
    for (;;) {
      try {
        return await this.#deps.link.call(Math.max(0, until - performance.now()), work);
      } catch (error) {
        // A server whose transactions are serializable by default may refuse a read that meets commits.
        if (!(error instanceof ConnectionLostError || error instanceof RetryableError)) throw error;
        if (performance.now() >= until) throw new StateError('failed', `The read failed: ${error.message}.`, error);
      }
    }
  }

  /** Resolves when no read is in progress. */
  idle(): Promise<void> {
    if (this.#underWay === 0 && this.#gets.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }
}
