import { ExpirySweep, lookAt } from '../../kernel/expiry-sweep.ts';
import { isConflictError } from '../../state/errors.ts';
import { compareKeys, keyAfter } from '../../state/keys.ts';
import { readTogether } from '../../state/read-together.ts';
import type { Batch, Entry, Precondition, Put, StateStore } from '../../state/store.ts';
import type { Clock } from '../../util/clock.ts';
import type { ComponentContext } from '../component.ts';
import type {
  KeyedValue,
  KeyValueOperation,
  KeyValueStore,
  StoredValue,
  WriteOptions,
  WriteOutcome,
} from '../key-value.ts';
import { EngineOutbox } from './engine-outbox.ts';
import { KeyValueLayout } from './layout.ts';
import { decodeValue, encodeValue, etagOf, expiryOf, versionOf } from './stored-form.ts';

/** A page of a listing ends when its values have this size. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Operations without conditions that one commit takes. */
const MAX_TOGETHER = 500;
const MAX_TOGETHER_BYTES = 8 * 1024 * 1024;
/** A conflict either refuses an operation or is over by the next try, so this many in a row mean a damaged store. */
const MAX_TRIES = 100;
/** A value that is saved again and again has a few entries by which its end is found: for each step one. */
const MIN_STEP_MS = 60_000;
const STEPS_PER_TTL = 8;

const DONE: WriteOutcome = { status: 'done' };
const REFUSED: WriteOutcome = { status: 'refused' };
const SKIPPED: WriteOutcome = { status: 'skipped' };

/** The dependencies of an {@link EngineKeyValue}. */
export interface EngineKeyValueDeps {
  readonly name: string;
  readonly store: StateStore;
  readonly context: ComponentContext;
  /** Closes the store, if it belongs to the component. */
  readonly closeStore: () => Promise<void>;
}

/** A key-value store on the sidecar's own kind of store. Values expire by the sidecar's clock. */
export class EngineKeyValue implements KeyValueStore {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #layout: KeyValueLayout;
  readonly #sweep: ExpirySweep;
  readonly #closeStore: () => Promise<void>;
  readonly outbox: EngineOutbox;
  /** The last write of each key, while it or one before it is committed with messages, which takes longer. */
  readonly #inTurn = new Map<string, Promise<void>>();
  #closing: Promise<void> | undefined;

  constructor({ name, store, context, closeStore }: EngineKeyValueDeps) {
    this.#store = store;
    this.#clock = context.clock;
    this.#layout = new KeyValueLayout(name);
    const layout = this.#layout;
    this.#sweep = new ExpirySweep({
      store,
      clock: context.clock,
      logger: context.logger,
      track: () => context.track('removing expired values'),
      values: {
        range: layout.allDue,
        placeOf: (key) => layout.dueOf(key),
        endOf: (_key, entry) => expiryOf(entry),
      },
    });
    this.#closeStore = closeStore;
    this.outbox = new EngineOutbox(store, this.#layout);
    this.#sweep.start();
  }

  get stateStore(): StateStore {
    return this.#store;
  }

  get failure(): Error | undefined {
    return this.#store.failure;
  }

  async read(keys: readonly string[]): Promise<readonly (StoredValue | undefined)[]> {
    const now = this.#clock.now();
    const [only] = keys;
    if (keys.length === 1 && only !== undefined) {
      const entry = await this.#store.get(this.#layout.value(only));
      return [entry && decodeValue(entry, now)];
    }
    const entries = await readTogether(
      this.#store,
      keys.map((key) => this.#layout.value(key)),
    );
    return entries.map((entry) => entry && decodeValue(entry, now));
  }

  async list(
    prefix: string,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<readonly KeyedValue[]> {
    const { to, from } = this.#layout.values(prefix);
    const start = after === undefined ? from : keyAfter(this.#layout.value(after));
    let next = compareKeys(start, from) < 0 ? from : start;
    const now = this.#clock.now();
    for (;;) {
      const scan = { from: next, ...(to === undefined ? {} : { to }), limit, maxBytes: PAGE_BYTES };
      const entries = await this.#store.scan(scan);
      const found = entries.flatMap((entry) => {
        const value = decodeValue(entry, now);
        return value === undefined ? [] : [{ ...value, key: this.#layout.keyOf(entry.key, prefix) }];
      });
      const last = entries.at(-1);
      if (found.length > 0 || last === undefined) return found;
      // All of them have expired.
      next = keyAfter(last.key);
    }
  }

  async write(operations: readonly KeyValueOperation[], options: WriteOptions): Promise<readonly WriteOutcome[]> {
    if (this.#inTurn.size === 0 && options.publish === undefined) return this.#write(operations, options);
    const before = operations.flatMap(({ key }) => this.#inTurn.get(key) ?? []);
    if (before.length === 0 && options.publish === undefined) return this.#write(operations, options);
    const written =
      before.length === 0
        ? this.#write(operations, options)
        : Promise.all(before).then(() => this.#write(operations, options));
    this.#keepTurn(operations, written);
    return written;
  }

  /** Later writes of the same keys wait for this one: the order of calls is that of the commits. */
  #keepTurn(operations: readonly KeyValueOperation[], written: Promise<unknown>): void {
    const end = (): void => {
      for (const { key } of operations) if (this.#inTurn.get(key) === ended) this.#inTurn.delete(key);
    };
    const ended: Promise<void> = written.then(end, end);
    for (const { key } of operations) this.#inTurn.set(key, ended);
  }

  async #write(operations: readonly KeyValueOperation[], options: WriteOptions): Promise<readonly WriteOutcome[]> {
    if (options.atomic || operations.length === 1) return this.#writeTogether(operations, options);
    const outcomes: Promise<readonly WriteOutcome[]>[] = [];
    const indexes: number[] = [];
    for (const group of groupsOf(operations)) {
      outcomes.push(this.#writeTogether(group.map(({ operation }) => operation)));
      indexes.push(...group.map(({ index }) => index));
    }
    const settled = await Promise.allSettled(outcomes);
    const failed = settled.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const inGroups = (await Promise.all(outcomes)).flat();
    const ordered = new Array<WriteOutcome>(operations.length).fill(DONE);
    for (const [at, outcome] of inGroups.entries()) ordered[indexes[at] ?? 0] = outcome;
    return ordered;
  }

  /** All or nothing, in one commit. */
  async #writeTogether(
    operations: readonly KeyValueOperation[],
    options: Omit<WriteOptions, 'atomic'> = {},
  ): Promise<readonly WriteOutcome[]> {
    if (operations.length === 0) return [];
    const plan = new WritePlan(operations, this.#layout, this.#clock.now());
    for (let tries = 1; ; tries++) {
      if (plan.refused !== undefined)
        return operations.map((operation) => (operation === plan.refused ? REFUSED : SKIPPED));
      try {
        const version = await this.#commit(plan.batch(), options);
        if (plan.firstDueAt !== undefined) this.#sweep.expect(plan.firstDueAt);
        return operations.map((operation) =>
          operation.kind === 'remove' ? DONE : { status: 'done', etag: etagOf(version, plan.expiryOf(operation)) },
        );
      } catch (error) {
        if (!isConflictError(error) || tries >= MAX_TRIES) throw error;
        await plan.conflicted(error.key, (key) => this.#store.get(key));
      }
    }
  }

  /** Commits with the events: their messages, or if those cannot be published, what the outbox keeps. */
  async #commit(batch: PlannedBatch, { events = [], publish }: Omit<WriteOptions, 'atomic'>): Promise<number> {
    if (publish !== undefined) {
      const version = await publish(batch);
      if (version !== undefined) return version;
    }
    for (const { id, bytes } of events) batch.put.push({ key: this.#layout.event(id), value: bytes });
    return this.#store.commit(batch);
  }

  /** Waits for the calls in flight, as the store does. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([this.#sweep.stop(), ...this.#inTurn.values()]).then(() => this.#closeStore());
    return this.#closing;
  }
}

/** A batch to which puts can be added. */
interface PlannedBatch extends Batch {
  readonly put: Put[];
}

/** The changes and preconditions of one commit. */
class WritePlan {
  readonly #operations: readonly KeyValueOperation[];
  readonly #layout: KeyValueLayout;
  readonly #now: number;
  /** The versions of expired values, which count as absent, by their entries. */
  readonly #expired = new Map<string, number>();
  /** The first operation whose condition does not hold. */
  refused: KeyValueOperation | undefined;
  /** When the first of the new values is to be looked at. */
  firstDueAt: number | undefined;

  constructor(operations: readonly KeyValueOperation[], layout: KeyValueLayout, now: number) {
    this.#operations = operations;
    this.#layout = layout;
    this.#now = now;
    this.refused = operations.find(
      ({ condition }) => typeof condition === 'object' && versionOf(condition.etag, now) === undefined,
    );
  }

  /** When a new value expires. */
  expiryOf({ ttlMs }: { readonly ttlMs?: number }): number | undefined {
    return ttlMs === undefined ? undefined : Math.ceil(this.#now + ttlMs);
  }

  batch(): PlannedBatch {
    const require: Precondition[] = [];
    const put: Put[] = [];
    const removed: string[] = [];
    for (const operation of this.#operations) {
      const key = this.#layout.value(operation.key);
      const version = this.#required(operation, key);
      if (version !== undefined) require.push({ key, version });
      if (operation.kind === 'remove') {
        if (version !== 'absent') removed.push(key);
        continue;
      }
      const { value: bytes, isBinary = false, ttlMs } = operation;
      const expiresAt = this.expiryOf(operation);
      put.push({ key, value: encodeValue({ bytes, isBinary, expiresAt }) });
      if (expiresAt !== undefined && ttlMs !== undefined) put.push(this.#due(expiresAt, ttlMs, operation.key));
    }
    return { require, put, delete: removed };
  }

  #required({ condition }: KeyValueOperation, key: string): Precondition['version'] | undefined {
    if (condition === undefined) return undefined;
    if (condition === 'absent') return this.#expired.get(key) ?? 'absent';
    return versionOf(condition.etag, this.#now);
  }

  #due(expiresAt: number, ttlMs: number, key: string): Put {
    const stepMs = 2 ** Math.ceil(Math.log2(Math.max(MIN_STEP_MS, ttlMs / STEPS_PER_TTL)));
    const at = lookAt(expiresAt, stepMs);
    this.firstDueAt = Math.min(at, this.firstDueAt ?? at);
    return { key: this.#layout.due(at, key), value: NOTHING };
  }

  /** Looks why the commit was refused: an expired value may be in the way of a new one. */
  async conflicted(key: string, read: (key: string) => Promise<Entry | undefined>): Promise<void> {
    const operation = this.#operations.find((one) => this.#layout.value(one.key) === key);
    if (operation?.condition !== 'absent') {
      this.refused = operation;
      return;
    }
    this.#expired.delete(key);
    const entry = await read(key);
    if (entry === undefined) return;
    const expiresAt = expiryOf(entry);
    if (expiresAt !== undefined && expiresAt <= this.#now) this.#expired.set(key, entry.version);
    else this.refused = operation;
  }
}

const NOTHING = new Uint8Array(0);

interface Indexed {
  readonly operation: KeyValueOperation;
  readonly index: number;
}

/** The operations that may share a commit although each is by itself: those that nothing can refuse. */
function groupsOf(operations: readonly KeyValueOperation[]): Indexed[][] {
  const groups: Indexed[][] = [];
  let open: Indexed[] | undefined;
  let bytes = 0;
  for (const [index, operation] of operations.entries()) {
    if (operation.condition !== undefined) {
      groups.push([{ operation, index }]);
      continue;
    }
    const size = operation.kind === 'put' ? operation.value.length : 0;
    if (open === undefined || open.length >= MAX_TOGETHER || bytes + size > MAX_TOGETHER_BYTES) {
      open = [];
      bytes = 0;
      groups.push(open);
    }
    open.push({ operation, index });
    bytes += size;
  }
  return groups;
}
