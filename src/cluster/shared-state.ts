import { randomUUID } from 'node:crypto';
import { closedError } from '../state/errors.ts';
import type { OnChange } from '../state/local-watch.ts';
import type {
  Batch,
  Entry,
  KeyedEntry,
  KeyRange,
  Scan,
  StateContext,
  StateDefinition,
  StateStore,
} from '../state/store.ts';
import { Expected } from '../util/expected.ts';
import { keepLocalHosts, type LocalHosts, localHostsOf } from './local-hosts.ts';
import { StoreView } from './store-view.ts';

/**
 * One open store for several sidecars of a process. The first sidecar opens it and the last one closes it. The sidecars
 * discover each other through it: invocations among them need no socket, and those of one app ID share their work.
 *
 * @example
 * ```ts
 * const state = sharedState(embeddedState({ path: './state' }));
 * const orders = new Sidecar({ appId: 'orders', state });
 * const billing = new Sidecar({ appId: 'billing', state });
 * ```
 * @public
 */
export function sharedState(definition: StateDefinition): StateDefinition {
  const shared = new SharedStore(definition);
  const byComponent = new Map<string, Expected>();
  const expectedOn = (component: string): Expected => {
    const expected = byComponent.get(component) ?? new Expected();
    byComponent.set(component, expected);
    return expected;
  };
  return { ...definition, expectedOn, open: (context) => shared.open(context) };
}

interface Opened {
  readonly store: StateStore;
  readonly hosts: LocalHosts;
}

class SharedStore {
  readonly #definition: StateDefinition;
  readonly #name = randomUUID();
  #opened: Promise<Opened> | undefined;
  #handles = 0;
  /** Resolves when the previous store is closed: only then can its files be opened again. */
  #closed: Promise<void> = Promise.resolve();

  constructor(definition: StateDefinition) {
    this.#definition = definition;
  }

  async open(context: StateContext): Promise<StateStore> {
    this.#handles++;
    this.#opened ??= this.#open(context);
    try {
      const { store, hosts } = await this.#opened;
      const handle = new Handle(store, () => this.#release());
      keepLocalHosts(handle, hosts);
      return handle;
    } catch (error) {
      // The next sidecar tries again.
      if (--this.#handles === 0) this.#opened = undefined;
      throw error;
    }
  }

  async #open(context: StateContext): Promise<Opened> {
    await this.#closed.catch(() => undefined);
    const store = await this.#definition.open(context);
    const hosts = localHostsOf(store);
    hosts.storeName ??= this.#name;
    return { store, hosts };
  }

  async #release(): Promise<void> {
    if (--this.#handles > 0) return;
    // Cleared at once: a new sidecar must not get a store that is being closed.
    const opened = this.#opened;
    this.#opened = undefined;
    this.#closed = Promise.resolve(opened).then((open) => open?.store.close());
    await this.#closed;
  }
}

/** One sidecar's access to the store. */
class Handle extends StoreView {
  readonly #release: () => Promise<void>;
  readonly #running = new Set<Promise<unknown>>();
  readonly #watches = new Set<Disposable>();
  #closing: Promise<void> | undefined;

  constructor(store: StateStore, release: () => Promise<void>) {
    super(store);
    this.#release = release;
  }

  override get(key: string): Promise<Entry | undefined> {
    return this.#call(() => super.get(key));
  }

  override getAll(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    return this.#call(() => super.getAll(keys));
  }

  override scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    return this.#call(() => super.scan(scan));
  }

  override count(range: KeyRange, limit: number): Promise<number> {
    return this.#call(() => super.count(range, limit));
  }

  override commit(batch: Batch): Promise<number> {
    return this.#call(() => super.commit(batch));
  }

  #call<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(closedError());
    const running = call();
    this.#running.add(running);
    const ended = (): void => void this.#running.delete(running);
    running.then(ended, ended);
    return running;
  }

  override watch(prefix: string, onChange: OnChange): Disposable {
    if (this.#closing !== undefined) throw closedError();
    const watching = super.watch(prefix, onChange);
    this.#watches.add(watching);
    return {
      [Symbol.dispose]: () => {
        this.#watches.delete(watching);
        watching[Symbol.dispose]();
      },
    };
  }

  override close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const watching of this.#watches) watching[Symbol.dispose]();
    // Calls that a failed store has not answered are not waited for: others may use it.
    if (this.failure === undefined) await Promise.allSettled(this.#running);
    await this.#release();
  }
}
