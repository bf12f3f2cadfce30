import type {
  KeyValueOperation,
  KeyValueStore,
  StoredValue,
  WriteCondition,
  WriteOutcome,
} from '../../../components/key-value.ts';
import { asBuffer } from '../../../http/body.ts';
import { type Clock, type DualInstant, dualNow, msSince, type Timer } from '../../../util/clock.ts';

/** Another relay takes a lease over that it has seen unchanged for so long. */
const LEASE_MS = 15_000;
/** A holder that has not renewed the lease for so long publishes nothing more: the rest is for a publish under way. */
const HELD_MS = 10_000;
const RENEW_MS = 5_000;

/** The dependencies of a {@link RelayLease}. */
export interface RelayLeaseDeps {
  readonly store: KeyValueStore;
  /** The whole key of the lease in the store. */
  readonly key: string;
  readonly clock: Clock;
  /** Tells this relay from all others. */
  readonly ownerId: string;
}

/** Who has the lease. */
interface Holder {
  readonly owner: string;
  /** The start of its process. */
  readonly process: number;
}

/**
 * The right to publish the events of an outbox, which one relay has at a time: a value in the store, written under the
 * condition of its ETag. No instants are compared between machines: a relay takes the lease of another one over when it
 * has seen the ETag unchanged for 15 s by its own clock, and the holder renews it every 5 s.
 */
export class RelayLease {
  readonly #deps: RelayLeaseDeps;
  readonly #value: Uint8Array;
  /** The lease of this relay: its ETag, and the moment before it was last written. */
  #held: { readonly etag: string; readonly since: DualInstant } | undefined;
  /** The lease of another relay, and the monotonic time when it was seen first. */
  #seen: { readonly etag: string; readonly since: number } | undefined;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;

  constructor(deps: RelayLeaseDeps) {
    this.#deps = deps;
    this.#value = Buffer.from(
      JSON.stringify({ owner: deps.ownerId, process: performance.timeOrigin } satisfies Holder),
    );
  }

  /** Whether no other relay can have taken it. */
  get isHeld(): boolean {
    return this.#held !== undefined && msSince(this.#held.since, this.#deps.clock) < HELD_MS;
  }

  /** Takes the lease if it is free; returns whether this relay has it now. */
  async acquire(): Promise<boolean> {
    const { store, key } = this.#deps;
    const [found] = await store.read([key]);
    const condition = this.#conditionFor(found);
    if (condition === undefined || !(await this.#write(condition))) return false;
    this.#seen = undefined;
    this.#renewLater();
    return true;
  }

  /** The condition under which the lease may be written; `undefined` while another relay has it. */
  #conditionFor(found: StoredValue | undefined): WriteCondition | undefined {
    if (found === undefined) return 'absent';
    const { ownerId, store, clock } = this.#deps;
    const { etag = '', bytes } = found;
    const holder = holderOf(bytes);
    // The answer to its own write was lost.
    if (holder?.owner === ownerId) return { etag };
    // No other process has an exclusive store open: the holder is no more.
    if (store.stateStore?.isExclusive === true && holder?.process !== performance.timeOrigin) return { etag };
    // Not the wall clock: that may be set.
    const now = dualNow(clock).monotonic;
    if (this.#seen?.etag !== etag) this.#seen = { etag, since: now };
    return now - this.#seen.since >= LEASE_MS ? { etag } : undefined;
  }

  /** Writes the lease; returns whether the condition held. */
  async #write(condition: WriteCondition): Promise<boolean> {
    const since = dualNow(this.#deps.clock);
    const { store, key } = this.#deps;
    const outcome = await writeOne(store, { kind: 'put', key, value: this.#value, condition });
    this.#held = outcome?.status === 'done' ? { etag: outcome.etag ?? '', since } : undefined;
    return this.#held !== undefined;
  }

  #renewLater(): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.#renewing = this.#renew().finally(() => {
        this.#renewing = undefined;
      });
    }, RENEW_MS);
  }

  /** A renewal that fails is tried again; without any, the lease is over by itself. */
  async #renew(): Promise<void> {
    if (this.#held === undefined) return;
    try {
      await this.#write({ etag: this.#held.etag });
    } catch {
      // Whoever publishes looks whether the lease is still held.
    }
    if (this.#held !== undefined && this.#timer !== undefined) this.#renewLater();
  }

  /** Gives the lease back, so that others need not wait until it ends. */
  async release(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#renewing;
    const { store, key } = this.#deps;
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) await writeOne(store, { kind: 'remove', key, condition: { etag: held.etag } });
  }
}

async function writeOne(store: KeyValueStore, operation: KeyValueOperation): Promise<WriteOutcome | undefined> {
  const [outcome] = await store.write([operation], { atomic: true });
  return outcome;
}

/** `undefined` for a value that no relay has written. */
function holderOf(bytes: Uint8Array): Partial<Holder> | undefined {
  try {
    const value: unknown = JSON.parse(asBuffer(bytes).toString());
    return typeof value === 'object' && value !== null ? (value as Partial<Holder>) : undefined;
  } catch {
    return undefined;
  }
}
