import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock, type Timer } from '../../util/clock.ts';
import { serveFile } from '../sqlite-file/file-thread.ts';
import { CommitQueue } from './commit-queue.ts';
import { loadSqlite } from './driver.ts';
import { stateErrorOf } from './failures.ts';
import { GuestServer } from './guest-server.ts';
import {
  type CommitOutcome,
  readBatches,
  readReads,
  type WorkerRequest,
  type WorkerSettings,
  writeAnswer,
  writeOutcome,
} from './protocol.ts';
import { closeDatabase, openDatabase } from './schema.ts';
import { SqliteEngine } from './sqlite-engine.ts';
import { ThreadPort } from './thread-port.ts';

/** Idle time after which the log is moved into the database file. */
const QUIET_MS = 50;

/** The worker's side of an embedded store: runs requests on the engine and replies. */
class StoreThread {
  readonly #port: ThreadPort;
  readonly #engine: SqliteEngine;
  readonly #path: string;
  readonly #commits: CommitQueue;
  #guests: GuestServer | undefined;
  #quiet: Timer | undefined;
  #isClosed = false;

  constructor(port: MessagePort, engine: SqliteEngine, settings: WorkerSettings) {
    this.#port = new ThreadPort(port, settings, engine);
    this.#engine = engine;
    this.#path = settings.path;
    this.#commits = new CommitQueue(engine, () => this.#written());
  }

  start(warning: string | undefined): void {
    this.#port.open(warning, (request) => this.#run(request));
  }

  #run({ reads, commits, control, share, admit, messages, line }: WorkerRequest): void {
    this.#quiet?.cancel();
    if (reads !== undefined) this.#answerReads(reads);
    if (commits !== undefined) this.#answerCommits(commits);
    if (control === 'probe') this.#probe();
    if (share !== undefined) this.#share(share.isTakeover);
    if (admit) this.#guests?.admitAll();
    if (messages !== undefined) this.#guests?.tell(messages, false);
    if (line !== undefined) this.#guests?.receive(line);
    if (control === 'close') this.close();
    else this.#tidyLog();
  }

  #answerReads(packet: Uint8Array): void {
    const { writer } = this.#port;
    for (const read of readReads(packet)) writeAnswer(writer, this.#engine.read(read));
    this.#port.answerReads();
  }

  #answerCommits(packet: Uint8Array): void {
    const batches = readBatches(packet);
    const answer = (outcomes: readonly CommitOutcome[]): void => {
      for (const outcome of outcomes) writeOutcome(this.#port.writer, outcome);
      this.#port.answerCommits();
    };
    // The cast is safe: a batch has the outcome of one.
    if (this.#guests?.isShared) this.#commits.add(batches, (outcomes) => answer(outcomes as readonly CommitOutcome[]));
    else answer(this.#engine.commit(batches));
  }

  #share(isTakeover: boolean): void {
    const [path, engine, commits] = [this.#path, this.#engine, this.#commits];
    this.#guests = new GuestServer({ path, engine, commits, isTakeover, post: (notice) => this.#port.tell(notice) });
    void this.#guests.open();
  }

  /** Commits of several processes were written. */
  #written(): void {
    this.#port.report();
    this.#tidyLog();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#commits.flush();
    this.#guests?.close();
    this.#quiet?.cancel();
    this.#port.close();
  }

  #probe(): void {
    this.#engine.probe();
    this.#port.report();
  }

  /** After the replies, so that no caller has to wait for it. */
  #tidyLog(): void {
    this.#quiet?.cancel();
    if (this.#engine.logIsLong) this.#checkpoint();
    else if (this.#engine.hasLog) this.#quiet = systemClock.setTimeout(() => this.#checkpoint(), QUIET_MS);
  }

  #checkpoint(): void {
    this.#engine.checkpoint();
    this.#port.report();
  }
}

async function openEngine(
  { path, syncDelayMs, maxPages, isShareable, isTransient, busyTimeoutMs }: WorkerSettings,
  onWarning: (text: string) => void,
): Promise<SqliteEngine> {
  const connection = openDatabase(await loadSqlite(), path, { isShareable, isTransient, busyTimeoutMs, onWarning });
  try {
    if (maxPages !== undefined) connection.execute(`PRAGMA max_page_count=${maxPages}`);
    return new SqliteEngine(
      connection,
      syncDelayMs === undefined ? { path } : { path, beforeCommit: () => pause(syncDelayMs) },
    );
  } catch (error) {
    closeDatabase(connection, path);
    throw error;
  }
}

function pause(delayMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, delayMs);
}

/**
 * Opens the store and serves it; reports an error if it cannot be opened, and ends.
 *
 * @returns closes the store at once
 */
export async function serve(port: MessagePort, settings: WorkerSettings): Promise<() => void> {
  try {
    let warning: string | undefined;
    const engine = await openEngine(settings, (text) => {
      warning = text;
    });
    const thread = new StoreThread(port, engine, settings);
    thread.start(warning);
    return () => thread.close();
  } catch (error) {
    ThreadPort.refuse(port, settings, stateErrorOf(error, settings.path));
    return () => undefined;
  }
}

/** Without its settings, this is another thread, which calls {@link serve}. */
const given = workerData as WorkerSettings | null;
if (parentPort !== null && given?.closed instanceof Int32Array) {
  if (given.values === undefined) void serve(parentPort, given);
  else void serveFile(parentPort, { ...given, ...given.values });
}
