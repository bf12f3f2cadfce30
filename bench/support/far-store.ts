import type { StateDefinition, StateStore } from '../../src/kit/index.ts';

/** Calls of a store, by kind. */
export interface StoreCalls {
  commit: number;
  get: number;
  scan: number;
}

/** How a {@link FarStore} is used. */
export interface FarStoreOptions {
  /** Other processes may have it open as well: each of its users is a host of its own, and it stays open. */
  readonly isShareable?: boolean;
}

/** Puts a network in front of a store: every call is late by one trip there and back, and counted. */
export class FarStore {
  readonly definition: StateDefinition;
  readonly #delayMs: number;
  readonly #isShareable: boolean;
  #opened: Promise<StateStore> | undefined;
  #calls: StoreCalls = noCalls();

  constructor(definition: StateDefinition, delayMs: number, { isShareable = false }: FarStoreOptions = {}) {
    this.#delayMs = delayMs;
    this.#isShareable = isShareable;
    this.definition = {
      type: definition.type,
      open: async (context) => {
        this.#opened ??= definition.open(context);
        return this.#far(await this.#opened);
      },
    };
  }

  /** What was called since the last time. */
  take(): StoreCalls {
    const calls = this.#calls;
    this.#calls = noCalls();
    return calls;
  }

  #far(store: StateStore): StateStore {
    return {
      get failure() {
        return store.failure;
      },
      ...(store.isExclusive === undefined || this.#isShareable ? {} : { isExclusive: store.isExclusive }),
      ...(this.#isShareable ? { hints: 'all' as const } : {}),
      get: (key) => this.#call('get', () => store.get(key)),
      scan: (scan) => this.#call('scan', () => store.scan(scan)),
      commit: (batch) => this.#call('commit', () => store.commit(batch)),
      watch: (prefix, onChange) => store.watch(prefix, onChange),
      close: () => this.#close(store),
      [Symbol.asyncDispose]: () => this.#close(store),
    };
  }

  async #close(store: StateStore): Promise<void> {
    if (!this.#isShareable) await store.close();
  }

  /** Calls made one after the other arrive in that order. */
  async #call<T>(kind: keyof StoreCalls, work: () => Promise<T>): Promise<T> {
    this.#calls[kind]++;
    await new Promise((resolve) => setTimeout(resolve, this.#delayMs));
    return work();
  }
}

function noCalls(): StoreCalls {
  return { commit: 0, get: 0, scan: 0 };
}
