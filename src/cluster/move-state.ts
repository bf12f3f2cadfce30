import { StateError } from '../state/errors.ts';
import { compareKeys, keyAfter, keyOf } from '../state/keys.ts';
import type { KeyedEntry, Precondition, StateStore } from '../state/store.ts';
import { withFormat } from '../state/values.ts';
import type { Clock } from '../util/clock.ts';
import { HOSTS_PREFIX, readHosts, type StoredHost } from './hosts.ts';
import { isNew, watchHosts } from './other-hosts.ts';
import { MARK_KEY, unfinishedError } from './unfinished-move.ts';

const MARK = withFormat(1, new Uint8Array());
const SHARDS_PREFIX = keyOf('shards');
/** The limits of one read, and so of one commit. */
const PAGE = { limit: 1_000, maxBytes: 8 * 1024 * 1024 };

/** The phase of a move. */
export type MoveStep = 'waiting' | 'clearing' | 'copying' | 'comparing';

/** Entries, and the size of their keys and values. */
export interface MovedAmount {
  readonly entries: number;
  readonly bytes: number;
}

/** The dependencies of {@link moveState}. */
export interface MoveDeps {
  readonly source: StateStore;
  readonly target: StateStore;
  readonly clock: Clock;
  readonly onProgress: (step: MoveStep, amount: MovedAmount) => void;
}

/**
 * Copies the state of stopped applications to an empty store, and compares every entry afterwards. The source is not
 * changed. Records of hosts and shards are left out; nothing else in a store depends on a host or on versions.
 *
 * The target is marked until the end. A move that was interrupted is done again from the beginning.
 *
 * @throws StateError `in-use` if a host of the source is alive, `failed` if the target is not empty or an entry differs,
 * `conflict` if another move to the target has begun.
 */
export async function moveState(deps: MoveDeps): Promise<MovedAmount> {
  const { source, target } = deps;
  if ((await source.get(MARK_KEY)) !== undefined) throw unfinishedError('The source');
  const dead = await deadHosts(deps);
  const fence = await claim(deps);
  for await (const page of pagesOf(source, 'copying', deps)) {
    const put = page.filter(({ key }) => isMoved(key)).map(({ key, value }) => ({ key, value }));
    if (put.length > 0) await target.commit({ require: [fence], put });
  }
  const amount = await compare(deps);
  const { hosts } = await readHosts(source);
  if (hosts.some((host) => isNew(host, dead))) throw usedError(hosts.filter((host) => isNew(host, dead)));
  await target.commit({ require: [fence], delete: [MARK_KEY] });
  return amount;
}

function isMoved(key: string): boolean {
  return !key.startsWith(HOSTS_PREFIX) && !key.startsWith(SHARDS_PREFIX) && key !== MARK_KEY;
}

/** The records that crashed hosts have left in the source. */
async function deadHosts({ source, clock, onProgress }: MoveDeps): Promise<readonly StoredHost[]> {
  const onWaiting = (entries: number): void => onProgress('waiting', { entries, bytes: 0 });
  const { alive, dead } = await watchHosts({ store: source, clock, onWaiting });
  if (alive.length > 0) throw usedError(alive);
  return dead;
}

function usedError(hosts: readonly StoredHost[]): StateError {
  const appIds = [...new Set(hosts.map(({ appId }) => appId))].join(', ');
  return new StateError('in-use', `Sidecars of ${appIds} use the source: stop them first.`);
}

/** Marks the target, and empties it if an earlier move was interrupted. Returns the precondition of all commits. */
async function claim(deps: MoveDeps): Promise<Precondition> {
  const { target } = deps;
  const mark = await target.get(MARK_KEY);
  if (mark === undefined && (await target.scan({ from: '', limit: 1 })).length > 0)
    throw new StateError(
      'failed',
      'The target is not empty: name another directory, schema or prefix, or remove what is in it.',
    );
  const require = [{ key: MARK_KEY, version: mark?.version ?? ('absent' as const) }];
  const version = await target.commit({ require, put: [{ key: MARK_KEY, value: MARK }] });
  const fence = { key: MARK_KEY, version };
  if (mark === undefined) return fence;
  for await (const page of pagesOf(target, 'clearing', deps)) {
    const keys = page.map(({ key }) => key).filter((key) => key !== MARK_KEY);
    if (keys.length > 0) await target.commit({ require: [fence], delete: keys });
  }
  return fence;
}

/** Reads all entries in pages; reports the progress after each page has been dealt with. */
async function* pagesOf(
  store: StateStore,
  step: MoveStep,
  { onProgress }: MoveDeps,
): AsyncGenerator<readonly KeyedEntry[]> {
  let [from, entries, bytes] = ['', 0, 0];
  for (;;) {
    const page = await store.scan({ from, ...PAGE });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    entries += page.length;
    for (const entry of page) bytes += sizeOf(entry);
    onProgress(step, { entries, bytes });
    from = keyAfter(last.key);
  }
}

function sizeOf({ key, value }: KeyedEntry): number {
  return Buffer.byteLength(key) + value.byteLength;
}

/** Compares every entry of the source with that of the target. @throws StateError `failed` naming the first difference. */
async function compare(deps: MoveDeps): Promise<MovedAmount> {
  const copies = new EntryReader(pagesOf(deps.target, 'comparing', { ...deps, onProgress: () => undefined }));
  let [entries, bytes] = [0, 0];
  let copy = await copies.next();
  for await (const page of pagesOf(deps.source, 'comparing', deps)) {
    for (const original of page) {
      if (!isMoved(original.key)) continue;
      if (copy?.key === MARK_KEY) copy = await copies.next();
      if (copy === undefined || !isSame(original, copy)) throw differenceError(original, copy);
      copy = await copies.next();
      entries++;
      bytes += sizeOf(original);
    }
  }
  if (copy?.key === MARK_KEY) copy = await copies.next();
  if (copy !== undefined) throw differenceError(undefined, copy);
  return { entries, bytes };
}

function isSame(original: KeyedEntry, copy: KeyedEntry): boolean {
  return original.key === copy.key && Buffer.compare(original.value, copy.value) === 0;
}

function differenceError(original: KeyedEntry | undefined, copy: KeyedEntry | undefined): StateError {
  const keys = [original?.key, copy?.key].filter((key) => key !== undefined).sort(compareKeys);
  return new StateError(
    'failed',
    `The entry ${JSON.stringify(keys[0])} differs between source and target: something has changed one of them meanwhile.`,
  );
}

/** Reads entries one by one from pages. */
class EntryReader {
  readonly #pages: AsyncGenerator<readonly KeyedEntry[]>;
  #page: readonly KeyedEntry[] = [];
  #at = 0;

  constructor(pages: AsyncGenerator<readonly KeyedEntry[]>) {
    this.#pages = pages;
  }

  async next(): Promise<KeyedEntry | undefined> {
    while (this.#at >= this.#page.length) {
      const { value, done } = await this.#pages.next();
      if (done === true) return undefined;
      this.#page = value;
      this.#at = 0;
    }
    return this.#page[this.#at++];
  }
}
