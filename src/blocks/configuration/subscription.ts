import type { ConfigurationItem, ConfigurationWatch } from '../../components/configuration-store.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { CancelSource, type CancelToken } from '../../util/cancel-token.ts';
import { sleep } from '../../util/clock.ts';
import { outside } from '../../util/outside.ts';
import { Semaphore } from '../../util/semaphore.ts';
import type { BlockDeps } from '../block-deps.ts';
import { sameItem } from './same-item.ts';

/** Between attempts to read what has changed. */
const RETRY: Backoff = { initialDelayMs: 500, maxDelayMs: 10_000, factor: 2, jitter: 0.2 };
/** Keys whose changes are delivered at the same time. After an outage, many may have changed. */
const MAX_TOLD_AT_ONCE = 16;

/** Delivers the change of a key; `undefined` for a key that is gone. Resolves when the next change may follow. */
export type TellChange = (key: string, item: ConfigurationItem | undefined, cancel: CancelToken) => Promise<void>;

/** The part of a store that a subscription uses. */
export interface SubscribedStore {
  readonly name: string;
  get(keys: readonly string[]): Promise<ReadonlyMap<string, ConfigurationItem>>;
  watch(keys: readonly string[], changed: (keys?: readonly string[]) => void): Promise<ConfigurationWatch>;
}

/** The dependencies of a {@link ConfigurationSubscription}. */
export interface SubscriptionDeps extends Pick<BlockDeps, 'clock' | 'logger' | 'work' | 'random'> {
  readonly id: string;
  readonly store: SubscribedStore;
  /** Without keys, all. */
  readonly keys: readonly string[];
  /** Where changes are told: by a request to the application, or in code. */
  readonly target: 'app' | 'code';
  readonly tell: TellChange;
}

/** A change that was told: without its value, which may be a secret. */
export interface ToldChange {
  readonly key: string;
  readonly at: number;
}

/** The keys to read again. */
type Unread = ReadonlySet<string> | 'all';

/**
 * Delivers the changes of some keys. The store says only which keys may have changed: they are read again, and items that
 * differ from those delivered last are delivered. So no change comes twice, and none is missed after an outage.
 */
export class ConfigurationSubscription {
  readonly #deps: SubscriptionDeps;
  /** The items as they were read last. */
  #latest: ReadonlyMap<string, ConfigurationItem> = new Map();
  #unread: Set<string> | 'all' = new Set();
  #reading: Promise<void> | undefined;
  /** The keys whose changes are being delivered; `true` if the key has changed since. */
  readonly #telling = new Map<string, boolean>();
  readonly #places = new Semaphore(MAX_TOLD_AT_ONCE);
  readonly #closed = new CancelSource();
  readonly #inFlight = new Set<Promise<void>>();
  /** When it was made. */
  readonly since: number;
  #told = 0;
  #lastTold: ToldChange | undefined;
  #watch: ConfigurationWatch | undefined;
  #isOpen = false;

  constructor(deps: SubscriptionDeps) {
    this.#deps = deps;
    this.since = deps.clock.now();
  }

  get id(): string {
    return this.#deps.id;
  }

  get storeName(): string {
    return this.#deps.store.name;
  }

  get keys(): readonly string[] {
    return this.#deps.keys;
  }

  get target(): SubscriptionDeps['target'] {
    return this.#deps.target;
  }

  /** How many changes were told, accepted or not. */
  get told(): number {
    return this.#told;
  }

  /** The change that was told last; `undefined` if there was none. */
  get lastTold(): ToldChange | undefined {
    return this.#lastTold;
  }

  /**
   * Begins. Resolves once no change is missed any more.
   *
   * @param tellsPresent - whether the present values are delivered like changes
   */
  async open(tellsPresent: boolean): Promise<void> {
    const { store, keys } = this.#deps;
    // First: what changes while the values are read is then seen, too.
    this.#watch = await store.watch(keys, (changed) => outside(() => this.#onHint(changed)));
    try {
      if (!tellsPresent) this.#latest = await store.get(keys);
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#isOpen = true;
    if (tellsPresent) this.#unread = 'all';
    this.#read();
  }

  #onHint(keys?: readonly string[]): void {
    const { keys: wanted } = this.#deps;
    if (keys === undefined) this.#unread = 'all';
    else if (this.#unread !== 'all')
      for (const key of keys) if (wanted.length === 0 || wanted.includes(key)) this.#unread.add(key);
    this.#read();
  }

  #read(): void {
    if (!this.#isOpen || this.#closed.aborted || this.#reading !== undefined) return;
    if (this.#unread !== 'all' && this.#unread.size === 0) return;
    this.#reading = this.#readAgain().finally(() => {
      this.#reading = undefined;
      this.#read();
    });
  }

  async #readAgain(): Promise<void> {
    const { store, keys, clock, logger, work, random } = this.#deps;
    for (let failures = 0; !this.#closed.aborted; ) {
      const unread: Unread = this.#unread;
      this.#unread = new Set();
      const done = work.begin(`reading changes of configuration store ${store.name}`);
      try {
        const found = await store.get(unread === 'all' ? keys : [...unread]);
        return this.#compare(unread, found);
      } catch (error) {
        this.#putBack(unread);
        logger.warn({ store: store.name, error }, 'changes of a configuration store could not be read: trying again');
      } finally {
        done();
      }
      failures++;
      await sleep(clock, backoffDelayMs(RETRY, failures, random), this.#closed).catch(() => undefined);
    }
  }

  #putBack(unread: Unread): void {
    if (unread === 'all' || this.#unread === 'all') this.#unread = 'all';
    else for (const key of unread) this.#unread.add(key);
  }

  #compare(unread: Unread, found: ReadonlyMap<string, ConfigurationItem>): void {
    if (this.#closed.aborted) return;
    const before = this.#latest;
    const looked = unread === 'all' ? new Set([...before.keys(), ...found.keys()]) : unread;
    const latest = new Map(before);
    const changed: string[] = [];
    for (const key of looked) {
      const item = found.get(key);
      if (sameItem(before.get(key), item)) continue;
      if (item === undefined) latest.delete(key);
      else latest.set(key, item);
      changed.push(key);
    }
    this.#latest = latest;
    for (const key of changed) this.#tell(key);
  }

  #tell(key: string): void {
    const isBusy = this.#telling.has(key);
    this.#telling.set(key, isBusy);
    if (isBusy) return;
    const telling = this.#tellUntilLatest(key);
    this.#inFlight.add(telling);
    void telling.finally(() => this.#inFlight.delete(telling));
  }

  /** Tells the value of a key, and once more what has become of it meanwhile. Never rejects. */
  async #tellUntilLatest(key: string): Promise<void> {
    const { tell, logger, store, clock } = this.#deps;
    try {
      do {
        await this.#places.acquire(this.#closed);
        try {
          this.#telling.set(key, false);
          if (this.#closed.aborted) return;
          this.#told++;
          this.#lastTold = { key, at: clock.now() };
          await tell(key, this.#latest.get(key), this.#closed);
        } finally {
          this.#places.release();
        }
      } while (this.#telling.get(key) === true);
    } catch (error) {
      if (!this.#closed.aborted) logger.error({ store: store.name, key, error }, 'a change could not be told');
    } finally {
      this.#telling.delete(key);
    }
  }

  /** Calls back when the subscription ends; call the result to unsubscribe. */
  onEnd(listener: () => void): () => void {
    if (!this.#closed.aborted) return this.#closed.onAbort(listener);
    listener();
    return () => undefined;
  }

  /** Ends the subscription: no change is delivered afterwards. */
  async close(): Promise<void> {
    this.#closed.abort(new Error('the subscription has ended'));
    await this.#watch?.close();
  }

  /** Waits for the changes that are being delivered. */
  async settled(): Promise<void> {
    await Promise.all([...this.#inFlight, this.#reading]);
  }
}
