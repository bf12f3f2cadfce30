import type {
  KeyValueDefinition,
  KeyValueOperation,
  StoredValue,
  WriteOptions,
  WriteOutcome,
} from '../../components/key-value.ts';
import type { CancelToken } from '../../util/cancel-token.ts';
import { msOf } from '../../util/duration.ts';
import { underPolicy } from '../call-store.ts';
import type { NamedStore } from '../stores.ts';
import { conditionOf, type StateChange } from './change.ts';
import { cipherOf, type ValueCipher } from './encryption.ts';
import { type KeyOwner, keyPrefixOf } from './key-prefix.ts';

/** An open store with its options: keys have no prefix, values are not encrypted. Calls follow the store's policy. */
export class OpenStateStore {
  readonly name: string;
  readonly definition: KeyValueDefinition;
  readonly prefix: string;
  readonly #named: NamedStore<KeyValueDefinition>;
  readonly #cipher: ValueCipher | undefined;
  readonly #defaultTtlMs: number;
  readonly #closing: CancelToken;

  constructor(named: NamedStore<KeyValueDefinition>, owner: KeyOwner, closing: CancelToken) {
    this.name = named.definition.name;
    this.definition = named.definition;
    this.prefix = keyPrefixOf(named.definition, owner);
    this.#named = named;
    this.#cipher = cipherOf(named.definition.options);
    this.#defaultTtlMs = msOf(named.definition.options.defaultTtl) ?? 0;
    this.#closing = closing;
  }

  get isEncrypted(): boolean {
    return this.#cipher !== undefined;
  }

  get store(): NamedStore<KeyValueDefinition>['store'] {
    return this.#named.store;
  }

  /** Reads keys as they are stored. */
  read(keys: readonly string[]): Promise<readonly (StoredValue | undefined)[]> {
    const whole = keys.map((key) => this.prefix + key);
    return this.call(() => this.store.read(whole), true);
  }

  /** The value of what is stored. @throws StateFailure if it cannot be decrypted */
  open(stored: StoredValue): StoredValue {
    return this.#cipher === undefined
      ? stored
      : { ...stored, bytes: this.#cipher.decrypt(stored.bytes), isJson: false };
  }

  /** The operation of a change. */
  operation(change: StateChange): KeyValueOperation {
    const key = this.prefix + change.key;
    const condition = conditionOf(change);
    const conditional = condition === undefined ? undefined : { condition };
    if (change.kind === 'delete') return { kind: 'remove', key, ...conditional };
    const ttlMs = change.ttlMs ?? this.#defaultTtlMs;
    const lasting = ttlMs > 0 ? { ttlMs } : undefined;
    if (this.#cipher === undefined) return { kind: 'put', key, value: change.value, ...lasting, ...conditional };
    return { kind: 'put', key, value: this.#cipher.encrypt(change.value), isBinary: true, ...lasting, ...conditional };
  }

  /**
   * Writes. Whether a write that failed was done may be unknown: one with a condition is then not tried again, because
   * it would be refused if it was.
   */
  write(operations: readonly KeyValueOperation[], options: WriteOptions): Promise<readonly WriteOutcome[]> {
    const mayRepeat = operations.every(({ condition }) => condition === undefined);
    return this.call(() => this.store.write(operations, options), mayRepeat);
  }

  /** Calls the store outside of the context of the caller, under its policy. */
  call<T>(work: () => Promise<T>, mayRepeat: boolean): Promise<T> {
    return underPolicy(this.#named, work, { mayRepeat, cancel: this.#closing });
  }
}
