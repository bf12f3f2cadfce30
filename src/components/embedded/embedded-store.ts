import { localHostsOf } from '../../cluster/local-hosts.ts';
import { changedKeys } from '../../state/changed-keys.ts';
import { checkBatch, checkCount, checkKey, checkScan } from '../../state/checks.ts';
import { ConflictError, type StateError } from '../../state/errors.ts';
import { LocalWatch, type OnChange } from '../../state/local-watch.ts';
import type {
  Batch,
  Entry,
  KeyedEntry,
  KeyRange,
  Scan,
  StateContext,
  StateDurability,
  StateStore,
} from '../../state/store.ts';
import type { Clock, Timer } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import { Hints } from '../remote/hints.ts';
import type { BinaryReader } from './binary-codec.ts';
import { canRecover } from './failures.ts';
import {
  errorOf,
  readEntries,
  readEntry,
  readNumber,
  readOutcome,
  type ThreadNotice,
  type WorkerSettings,
  writeBatch,
  writeCount,
  writeGet,
  writeScan,
} from './protocol.ts';
import { Thread } from './thread.ts';
import { ThreadCalls } from './thread-calls.ts';

/** How often a failed store is probed. */
const PROBE_INTERVAL_MS = 1000;
/** Settings for tests and benchmarks only. */
export type EmbeddedInternals = Pick<WorkerSettings, 'syncDelayMs' | 'maxPages' | 'busyTimeoutMs'>;

/** What the processes that share a directory agree on. */
export type DirectorySettings = Pick<WorkerSettings, 'isTransient'>;

/** How the store of a directory is opened. */
export interface EmbeddedSettings extends EmbeddedInternals, DirectorySettings {
  /** Whether other processes may join. Default: false. */
  readonly isShareable?: boolean;
}

/** Opens the store of a directory (absolute). */
export async function openEmbeddedStore(
  path: string,
  context: StateContext,
  settings: EmbeddedSettings = {},
): Promise<EmbeddedStore> {
  return new EmbeddedStore(await openThread({ path, ...settings }), context, settings);
}

/** Opens a directory in a thread. */
export function openThread(settings: Omit<WorkerSettings, 'closed'>): Promise<Thread> {
  const closed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return Thread.open({ ...settings, closed });
}

/** The state store in a directory that this process holds. Others may join it: see `guest-server.ts`. */
export class EmbeddedStore implements StateStore {
  readonly durability: StateDurability;
  readonly #thread: Thread;
  readonly #calls: ThreadCalls;
  readonly #clock: Clock;
  readonly #watchers: LocalWatch;
  readonly #logger: Logger;
  readonly #hints: Hints;
  /** Whether other processes have the store open. */
  #isShared = false;
  #probe: Timer | undefined;

  constructor(thread: Thread, { clock, logger }: StateContext, { isShareable, isTransient }: EmbeddedSettings = {}) {
    this.durability = isTransient ? 'none' : 'synced';
    this.#thread = thread;
    this.#clock = clock;
    this.#watchers = new LocalWatch(logger);
    if (thread.warning !== undefined) logger.warn({}, thread.warning);
    this.#logger = logger;
    this.#hints = new Hints({
      link: { call: (_waitMs, work) => work({ notify: async (messages) => thread.send({ messages }) }) },
      watch: this.#watchers,
    });
    this.#calls = new ThreadCalls({
      ...{ thread, logger, logFields: {} },
      onFailureChange: () => this.#scheduleProbe(),
      onNotice: (notice) => this.#onNotice(notice),
      beforeClose: () => this.#hints.stop(),
    });
    if (isShareable) thread.send({ share: { isTakeover: false } });
  }

  get isExclusive(): boolean {
    return !this.#isShared;
  }

  get hints(): 'all' | 'own' {
    return this.#isShared ? 'all' : 'own';
  }

  #onNotice({ hasGuests, messages = [], notice }: ThreadNotice): void {
    if (notice !== undefined) this.#logger.warn({}, notice);
    for (const message of messages) this.#hints.received(message);
    if (hasGuests === undefined) return;
    this.#isShared = hasGuests;
    // All hosts of this process take leases from now on: before the first guest is admitted.
    localHostsOf(this).sharingChanged();
    if (hasGuests) this.#thread.send({ admit: true });
  }

  get failure(): StateError | undefined {
    return this.#calls.failure;
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#calls.checkOpen();
    checkKey(key);
    return this.#get(key);
  }

  async getAll(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    this.#calls.checkOpen();
    for (const key of keys) checkKey(key);
    // The reads of a moment go to the thread together, and nothing is written while it answers them.
    return Promise.all(keys.map((key) => this.#get(key)));
  }

  #get(key: string): Promise<Entry | undefined> {
    return this.#calls.read((writer) => writeGet(writer, key), readEntry);
  }

  async scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    this.#calls.checkOpen();
    checkScan(scan);
    if (scan.limit === 0) return [];
    return this.#calls.read((writer) => writeScan(writer, scan), readEntries);
  }

  async count(range: KeyRange, limit: number): Promise<number> {
    this.#calls.checkOpen();
    checkCount(range, limit);
    return this.#calls.read((writer) => writeCount(writer, range, limit), readNumber);
  }

  async commit(batch: Batch): Promise<number> {
    this.#calls.checkOpen();
    checkBatch(batch);
    return this.#calls.change(
      (writer) => writeBatch(writer, batch),
      (reader) => this.#versionOf(batch, reader),
    );
  }

  #versionOf(batch: Batch, reader: BinaryReader): number {
    const outcome = readOutcome(reader);
    if ('failure' in outcome) throw errorOf(outcome.failure);
    if ('conflict' in outcome) throw new ConflictError(batch.require?.[outcome.conflict]?.key ?? '');
    if (this.#isShared) this.#hints.written([batch]);
    if (this.#watchers.active) this.#watchers.notify(changedKeys(batch), batch.by);
    return outcome.version;
  }

  watch(prefix: string, onChange: OnChange): Disposable {
    this.#calls.checkOpen();
    return this.#watchers.add(prefix, onChange);
  }

  #scheduleProbe(): void {
    this.#probe?.cancel();
    this.#probe = undefined;
    const { failure, hasEnded } = this.#calls;
    if (hasEnded || failure === undefined || !canRecover(failure.kind)) return;
    this.#probe = this.#clock.setTimeout(() => {
      this.#thread.send({ control: 'probe' });
      this.#scheduleProbe();
    }, PROBE_INTERVAL_MS);
  }

  async close(): Promise<void> {
    this.#probe?.cancel();
    await this.#calls.close();
    this.#watchers.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
