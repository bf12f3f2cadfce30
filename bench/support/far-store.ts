import type { StateDefinition, StateStore } from '../../src/index.ts';

/** Calls of a store, by kind. */
export interface StoreCalls {
  commit: number;
  get: number;
  scan: number;
}

/** Puts a network in front of a store: every call is late by one trip there and back, and counted. */
export class FarStore {
  readonly definition: StateDefinition;
  readonly #delayMs: number;
  #calls: StoreCalls = noCalls();

  constructor(definition: StateDefinition, delayMs: number) {
    this.#delayMs = delayMs;
    this.definition = {
      type: definition.type,
      open: async (context) => this.#far(await definition.open(context)),
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
      ...(store.isExclusive === undefined ? {} : { isExclusive: store.isExclusive }),
      get: (key) => this.#call('get', () => store.get(key)),
      scan: (scan) => this.#call('scan', () => store.scan(scan)),
      commit: (batch) => this.#call('commit', () => store.commit(batch)),
      watch: (prefix, onChange) => store.watch(prefix, onChange),
      close: () => store.close(),
      [Symbol.asyncDispose]: () => store.close(),
    };
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
