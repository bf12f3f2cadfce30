import { changedKeys } from '../../state/changed-keys.ts';
import { checkBatch, checkCount, checkKey, checkScan } from '../../state/checks.ts';
import { ConflictError, closedError } from '../../state/errors.ts';
import { sortFormOf } from '../../state/keys.ts';
import { LocalWatch, type OnChange } from '../../state/local-watch.ts';
import type {
  Batch,
  Entry,
  KeyedEntry,
  KeyRange,
  Scan,
  StateContext,
  StateDefinition,
  StateStore,
} from '../../state/store.ts';
import { SortedMap } from './sorted-map.ts';

/**
 * State in memory: the default. Fast, but lost when the process ends.
 *
 * @public
 */
export function memoryState(): StateDefinition {
  return { type: 'memory', open: (context) => Promise.resolve(new MemoryStore(context)) };
}

/** The state store in memory. Commits take effect within the call, in the order of the calls. */
export class MemoryStore implements StateStore {
  /** Memory does not fail. */
  readonly failure: undefined = undefined;
  readonly isExclusive = true;
  readonly durability = 'none';
  /** By sort form; see `sortFormOf`. */
  readonly #entries = new SortedMap<KeyedEntry>();
  readonly #watchers: LocalWatch;
  #version = 0;
  #closed = false;

  constructor({ logger }: StateContext) {
    this.#watchers = new LocalWatch(logger);
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#checkOpen();
    checkKey(key);
    const entry = this.#entries.get(sortFormOf(key));
    return entry && copyOf(entry);
  }

  async getAll(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    this.#checkOpen();
    for (const key of keys) checkKey(key);
    return copiesOf(keys.map((key) => this.#entries.get(sortFormOf(key))));
  }

  async scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    this.#checkOpen();
    checkScan(scan);
    const { from, to, reverse, limit = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY } = scan;
    const found: KeyedEntry[] = [];
    if (limit === 0) return found;
    let bytes = 0;
    const range = { from: sortFormOf(from), to: to === undefined ? undefined : sortFormOf(to), reverse };
    this.#entries.visit(range, (_sortForm, { key, value, version }) => {
      found.push({ key, value: value.slice(), version });
      bytes += value.byteLength;
      return found.length < limit && bytes < maxBytes;
    });
    return found;
  }

  async count(range: KeyRange, limit: number): Promise<number> {
    this.#checkOpen();
    checkCount(range, limit);
    let count = 0;
    if (limit === 0) return count;
    const to = range.to === undefined ? undefined : sortFormOf(range.to);
    this.#entries.visit({ from: sortFormOf(range.from), to }, () => ++count < limit);
    return count;
  }

  async commit(batch: Batch): Promise<number> {
    this.#checkOpen();
    checkBatch(batch);
    for (const { key, version } of batch.require ?? []) {
      const present = this.#entries.get(sortFormOf(key))?.version ?? 'absent';
      if (present !== version) throw new ConflictError(key);
    }
    const version = ++this.#version;
    for (const { key, value } of batch.put ?? []) {
      // Not value.slice(): for a Buffer, that is a view of the caller's bytes.
      this.#entries.set(sortFormOf(key), { key, value: new Uint8Array(value), version });
    }
    for (const key of batch.delete ?? []) this.#entries.delete(sortFormOf(key));
    if (this.#watchers.active) this.#watchers.notify(changedKeys(batch), batch.by);
    return version;
  }

  watch(prefix: string, onChange: OnChange): Disposable {
    this.#checkOpen();
    return this.#watchers.add(prefix, onChange);
  }

  #checkOpen(): void {
    if (this.#closed) throw closedError();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watchers.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** What is read together is copied into one buffer up to this size, which lasts as long as any of the values. */
const MAX_SHARED_BYTES = 64 * 1024;

/** Copies entries. A buffer for each of many small ones takes longer than all the rest of a read. */
function copiesOf(entries: readonly (Entry | undefined)[]): readonly (Entry | undefined)[] {
  let bytes = 0;
  for (const entry of entries) bytes += entry?.value.length ?? 0;
  if (bytes > MAX_SHARED_BYTES) return entries.map((entry) => entry && copyOf(entry));
  const shared = new Uint8Array(bytes);
  let at = 0;
  return entries.map((entry) => {
    if (entry === undefined) return undefined;
    const value = new Uint8Array(shared.buffer, at, entry.value.length);
    value.set(entry.value);
    at += value.length;
    return { value, version: entry.version };
  });
}

function copyOf({ value, version }: Entry): Entry {
  return { value: value.slice(), version };
}
