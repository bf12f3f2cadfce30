import type { KeyValueStore } from '../key-value.ts';
import type { LockStore, UnlockOutcome } from '../lock-store.ts';

/** A lock is released at the first try, unless another process changes it at the same time. */
const MAX_TRIES = 10;

/** Locks in a key-value store: a lock is a value, the name of its owner, that expires. */
export class KeyValueLocks implements LockStore {
  readonly #store: KeyValueStore;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  get failure(): Error | undefined {
    return this.#store.failure;
  }

  async tryLock(resource: string, owner: string, expiryMs: number): Promise<boolean> {
    const value = Buffer.from(owner);
    const put = { kind: 'put', key: resource, value, isBinary: true, ttlMs: expiryMs, condition: 'absent' } as const;
    const [outcome] = await this.#store.write([put], { atomic: true });
    return outcome?.status === 'done';
  }

  async unlock(resource: string, owner: string): Promise<UnlockOutcome> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const [found] = await this.#store.read([resource]);
      if (found === undefined) return 'missing';
      const { bytes, etag } = found;
      if (etag === undefined || Buffer.from(bytes).toString() !== owner) return 'foreign';
      const [outcome] = await this.#store.write([{ kind: 'remove', key: resource, condition: { etag } }], {
        atomic: true,
      });
      if (outcome?.status === 'done') return 'released';
    }
    throw new Error('the lock has changed at each try to release it');
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
