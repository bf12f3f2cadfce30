import type { Membership } from '../../cluster/membership.ts';
import type { KeyValueDefinition, StoredValue, WriteOutcome } from '../../components/key-value.ts';
import type { ErrorCode } from '../../errors.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import { isDamage } from '../../state/damages.ts';
import { CancelSource } from '../../util/cancel-token.ts';
import type { BlockDeps } from '../block-deps.ts';
import type { BlockService } from '../block-service.ts';
import { observeStore } from '../call-store.ts';
import { Stores } from '../stores.ts';
import { isProjection, type StateChange } from './change.ts';
import { refused, storeFailed } from './errors.ts';
import { fold, roundsOf } from './fold.ts';
import { checkKey } from './key-prefix.ts';
import { type KeyListOptions, type KeyPage, listKeys } from './list-keys.ts';
import { OpenStateStore } from './open-state-store.ts';
import { type EventOptions, type StateOutbox, StateOutboxes } from './outbox/outboxes.ts';
import type { OutboxPublisher } from './outbox/publisher.ts';
import type { StateQueryPlan } from './query/parse-query.ts';
import { type QueryPage, runQuery } from './query/run-query.ts';

/** The dependencies of a {@link StateService}. */
export interface StateServiceDeps
  extends Pick<BlockDeps, 'appId' | 'namespace' | 'wire' | 'clock' | 'logger' | 'work' | 'newId' | 'probe' | 'admit'> {
  readonly resiliency: Resiliency;
  /** The stores that the application may use. */
  readonly definitions: readonly KeyValueDefinition[];
  /** Whether the namespace is more than the default: only then it is part of a key prefix. */
  readonly isNamespaceSet: boolean;
  /** Publishes the events of transactions. */
  readonly publisher: () => OutboxPublisher;
  /** Whether the application has this pub/sub. */
  readonly hasPubSub: (pubsubName: string) => boolean;
}

/** The value of a key, or the error for one that cannot be read; `undefined` if the key does not exist. */
export type StateEntry = StoredValue | { readonly error: unknown } | undefined;

/** Saves and reads the values of applications. The routes and the public class parse its arguments. */
export class StateService implements BlockService {
  readonly #deps: StateServiceDeps;
  readonly stores: Stores<KeyValueDefinition>;
  readonly #open = new Map<string, OpenStateStore>();
  readonly #outboxes: StateOutboxes;
  readonly #closing = new CancelSource();

  constructor(deps: StateServiceDeps) {
    this.#deps = deps;
    const { transactionCapability } = deps.wire;
    this.stores = new Stores({
      ...deps,
      block: 'state',
      capabilitiesOf: ({ definition: { options, isOwnState }, store }) => [
        ...['ETAG', transactionCapability, 'TTL'],
        ...(store.list === undefined || options.primaryEncryptionKey !== undefined ? [] : ['QUERY_API']),
        ...(isOwnState === true ? ['ACTOR'] : []),
      ],
    });
    this.#outboxes = new StateOutboxes(deps);
  }

  /** Throws if the sidecar accepts no work now. */
  admit(): void {
    this.#deps.admit();
  }

  /** @throws SidecarError `ERR_STATE_STORE_NOT_CONFIGURED`, `ERR_STATE_STORE_NOT_FOUND` */
  store(name: string): OpenStateStore {
    const open = this.#open.get(name);
    if (open !== undefined) return open;
    const { appId, namespace, isNamespaceSet } = this.#deps;
    const owner = { appId, namespace: isNamespaceSet ? namespace : undefined };
    const found = new OpenStateStore(this.stores.find(name), owner, this.#closing);
    this.#open.set(name, found);
    return found;
  }

  /** Reads one key. */
  async get(store: OpenStateStore, key: string): Promise<StoredValue | undefined> {
    return this.#observed('get', store, async () => {
      try {
        const [stored] = await store.read([key]);
        return stored && store.open(stored);
      } catch (error) {
        throw storeFailed('ERR_STATE_GET', store.name, key, error);
      }
    });
  }

  /**
   * Reads keys, all from one state of the store. A value that cannot be read is an error of its own; if it makes the
   * store refuse all, each key is read by itself.
   */
  async getMany(store: OpenStateStore, keys: readonly string[]): Promise<readonly StateEntry[]> {
    return this.#observed('getMany', store, async () => {
      try {
        return (await store.read(keys)).map((stored, index) => openEntry(store, stored, keys[index]));
      } catch (error) {
        if (!isDamage(error)) throw storeFailed('ERR_STATE_BULK_GET', store.name, undefined, error);
        return Promise.all(keys.map((key) => readEntry(store, key)));
      }
    });
  }

  /** Makes each change by itself; those of one key in order. Returns the new ETags, by the keys. */
  async save(store: OpenStateStore, changes: readonly StateChange[]): Promise<ReadonlyMap<string, string>> {
    return this.#observed('set', store, () => this.#writeEach(store, changes, 'ERR_STATE_SAVE'));
  }

  /** Deletes a key. */
  async delete(store: OpenStateStore, change: StateChange): Promise<void> {
    await this.#observed('delete', store, () => this.#writeEach(store, [change], 'ERR_STATE_DELETE'));
  }

  async #writeEach(
    store: OpenStateStore,
    changes: readonly StateChange[],
    code: ErrorCode,
  ): Promise<ReadonlyMap<string, string>> {
    // Reading the body may have taken a while.
    this.#deps.admit();
    const etags = new Map<string, string>();
    const isStrong = changes.some((change) => change.isStrong);
    let firstRefused: StateChange | undefined;
    for (const round of roundsOf(changes)) {
      const outcomes = await this.#write(store, round, { atomic: false, isStrong, code });
      for (const [index, change] of round.entries()) {
        const outcome = outcomes[index];
        if (outcome?.status !== 'done') firstRefused ??= change;
        else if (outcome.etag !== undefined) etags.set(change.key, outcome.etag);
      }
    }
    if (firstRefused !== undefined) throw refusedChange(code, store, firstRefused);
    return etags;
  }

  async #write(
    store: OpenStateStore,
    changes: readonly StateChange[],
    { code, ...options }: { readonly atomic: boolean; readonly isStrong: boolean; readonly code: ErrorCode },
  ): Promise<readonly WriteOutcome[]> {
    try {
      const operations = changes.map((change) => store.operation(change));
      return await store.write(operations, options);
    } catch (error) {
      throw storeFailed(code, store.name, changes.length === 1 ? changes[0]?.key : undefined, error);
    }
  }

  /** Makes all changes, in order, or none. Returns the new ETags, by the keys. */
  async transact(store: OpenStateStore, changes: readonly StateChange[]): Promise<ReadonlyMap<string, string>> {
    return this.#observed('transact', store, () => this.#transact(store, changes));
  }

  async #transact(store: OpenStateStore, all: readonly StateChange[]): Promise<ReadonlyMap<string, string>> {
    this.#deps.admit();
    const code = 'ERR_STATE_TRANSACTION';
    const outbox = this.#outboxes.of(store.name);
    if (outbox?.hasBegun === false) await this.#begin(outbox, store);
    const events = outbox?.eventsOf(all) ?? [];
    const saved = all.filter((change) => !isProjection(change));
    const folded = fold(saved, (change) => store.operation(change));
    if ('refused' in folded) throw refusedChange(code, store, folded.refused);
    const { operations, changes } = folded;
    if (operations.length === 0) return new Map();
    const isStrong = all.some((change) => change.isStrong);
    let outcomes: readonly WriteOutcome[];
    try {
      const write = (options: EventOptions): Promise<readonly WriteOutcome[]> =>
        store.write(operations, { atomic: true, isStrong, ...options });
      outcomes = await (outbox === undefined ? write({}) : outbox.write(events, write));
    } catch (error) {
      throw storeFailed(code, store.name, undefined, error);
    }
    this.#checkDone(store, changes, outcomes);
    return new Map(
      changes.flatMap(({ key }, index) => {
        const outcome = outcomes[index];
        return outcome?.status === 'done' && outcome.etag !== undefined ? [[key, outcome.etag] as const] : [];
      }),
    );
  }

  async #begin(outbox: StateOutbox, store: OpenStateStore): Promise<void> {
    try {
      await outbox.begin();
    } catch (error) {
      throw storeFailed('ERR_STATE_TRANSACTION', store.name, undefined, error);
    }
  }

  #checkDone(store: OpenStateStore, changes: readonly StateChange[], outcomes: readonly WriteOutcome[]): void {
    const at = outcomes.findIndex(({ status }) => status === 'refused');
    const change = changes[at];
    if (change !== undefined) throw refusedChange('ERR_STATE_TRANSACTION', store, change);
  }

  /** Finds values. */
  async query(store: OpenStateStore, plan: StateQueryPlan): Promise<QueryPage> {
    return this.#observed('query', store, () => runQuery(store, plan));
  }

  /** Lists keys for an operator; see {@link listKeys}. The probe does not see it, as the application has not asked. */
  async list(storeName: string, options: KeyListOptions): Promise<KeyPage> {
    this.#deps.admit();
    return listKeys(this.store(storeName), options);
  }

  /**
   * Reads one key for an operator: the value as it is stored, encrypted if the store encrypts. The probe does not see it.
   *
   * @throws SidecarError `ERR_MALFORMED_REQUEST` for a key that a request may not have, `ERR_STATE_GET` when the store fails
   */
  async stored(storeName: string, key: string): Promise<StoredValue | undefined> {
    this.#deps.admit();
    const store = this.store(storeName);
    checkKey(store.name, key);
    try {
      const [stored] = await store.read([key]);
      return stored;
    } catch (error) {
      throw storeFailed('ERR_STATE_GET', store.name, key, error);
    }
  }

  #observed<T>(action: string, { definition }: OpenStateStore, work: () => Promise<T>): Promise<T> {
    return observeStore(definition, { action, probe: this.#deps.probe }, work);
  }

  async open(membership: Membership): Promise<void> {
    await this.stores.open(membership);
    await this.#outboxes.open(this.#deps.definitions, (name) => this.store(name));
  }

  /** Publishes what former processes have left. */
  start(): void {
    this.#outboxes.start();
  }

  /** Waits for the events that are being published. */
  async stop(): Promise<void> {
    await this.#outboxes.stop();
  }

  /** Closes the stores. */
  close(): Promise<void> {
    this.#closing.abort(new Error('the sidecar is stopping'));
    return this.stores.close();
  }
}

function refusedChange(code: ErrorCode, store: OpenStateStore, { key, etag }: StateChange): Error {
  return refused(code, store.name, key, etag !== undefined);
}

async function readEntry(store: OpenStateStore, key: string): Promise<StateEntry> {
  try {
    const [stored] = await store.read([key]);
    return openEntry(store, stored, key);
  } catch (error) {
    return { error: storeFailed('ERR_STATE_GET', store.name, key, error) };
  }
}

function openEntry(store: OpenStateStore, stored: StoredValue | undefined, key: string | undefined): StateEntry {
  try {
    return stored && store.open(stored);
  } catch (error) {
    return { error: storeFailed('ERR_STATE_GET', store.name, key, error) };
  }
}
