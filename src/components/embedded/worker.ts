import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock, type Timer } from '../../util/clock.ts';
import { serveFile } from '../sqlite-file/file-thread.ts';
import { BinaryWriter } from './binary-codec.ts';
import { loadSqlite } from './driver.ts';
import { stateErrorOf } from './failures.ts';
import {
  type Failure,
  readBatches,
  readReads,
  type WorkerReply,
  type WorkerRequest,
  type WorkerSettings,
  writeFailure,
  writeNumber,
  writeOutcome,
  writeRows,
} from './protocol.ts';
import { closeDatabase, openDatabase } from './schema.ts';
import { SqliteEngine } from './sqlite-engine.ts';

/** Idle time after which the log is moved into the database file. */
const QUIET_MS = 50;

/** The worker's side of an embedded store: runs requests on the engine and replies. */
class StoreThread {
  readonly #port: MessagePort;
  readonly #engine: SqliteEngine;
  readonly #settings: WorkerSettings;
  readonly #writer = new BinaryWriter();
  #reported: Failure | undefined;
  #quiet: Timer | undefined;

  constructor(port: MessagePort, engine: SqliteEngine, settings: WorkerSettings) {
    this.#port = port;
    this.#engine = engine;
    this.#settings = settings;
  }

  start(warning: string | undefined): void {
    this.#port.on('message', (request: WorkerRequest) => this.#run(request));
    this.#post({ opened: true, ...(warning !== undefined && { warning }) });
  }

  #run({ reads, commits, control }: WorkerRequest): void {
    this.#quiet?.cancel();
    if (reads !== undefined) this.#answerReads(reads);
    if (commits !== undefined) this.#answerCommits(commits);
    if (control === 'probe') this.#probe();
    if (control === 'close') this.#close();
    else this.#tidyLog();
  }

  #answerReads(packet: Uint8Array): void {
    for (const read of readReads(packet)) {
      const answer = this.#engine.read(read);
      if (typeof answer === 'number') writeNumber(this.#writer, answer);
      else if ('kind' in answer) writeFailure(this.#writer, answer);
      else writeRows(this.#writer, answer);
    }
    this.#post({ reads: this.#writer.take() });
  }

  #answerCommits(packet: Uint8Array): void {
    for (const outcome of this.#engine.commit(readBatches(packet))) writeOutcome(this.#writer, outcome);
    this.#post({ commits: this.#writer.take() });
  }

  #probe(): void {
    this.#engine.probe();
    this.#post({});
  }

  /** After the replies, so that no caller has to wait for it. */
  #tidyLog(): void {
    if (this.#engine.logIsLong) this.#checkpoint();
    else if (this.#engine.hasLog) this.#quiet = systemClock.setTimeout(() => this.#checkpoint(), QUIET_MS);
  }

  #checkpoint(): void {
    this.#engine.checkpoint();
    if (this.#failureToReport() !== undefined) this.#post({});
  }

  /** The change of the engine's failure to report; `undefined` if there is none, `null` if the engine works again. */
  #failureToReport(): Failure | null | undefined {
    const { failure } = this.#engine;
    if (failure?.message === this.#reported?.message) return undefined;
    return failure === undefined ? null : { kind: failure.kind, message: failure.message };
  }

  #post(reply: WorkerReply): void {
    const failure = this.#failureToReport();
    if (failure !== undefined) this.#reported = failure ?? undefined;
    const buffers = [reply.reads, reply.commits].flatMap((packet) => (packet === undefined ? [] : [packet.buffer]));
    this.#port.postMessage(failure === undefined ? reply : { ...reply, failure }, buffers as ArrayBuffer[]);
  }

  /** Closes the database and lets the thread end by itself: terminating it in the driver would abort the process. */
  #close(): void {
    this.#engine.close();
    tellClosed(this.#settings);
    this.#port.close();
  }
}

function tellClosed({ closed }: WorkerSettings): void {
  Atomics.store(closed, 0, 1);
  Atomics.notify(closed, 0);
}

async function openEngine(
  { path, syncDelayMs, maxPages }: WorkerSettings,
  onWarning: (text: string) => void,
): Promise<SqliteEngine> {
  const connection = openDatabase(await loadSqlite(), path, onWarning);
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

/** Opens the store and serves it; reports an error if it cannot be opened, and ends. */
async function serve(port: MessagePort, settings: WorkerSettings): Promise<void> {
  try {
    let warning: string | undefined;
    const engine = await openEngine(settings, (text) => {
      warning = text;
    });
    new StoreThread(port, engine, settings).start(warning);
  } catch (error) {
    const { kind, message } = stateErrorOf(error, settings.path);
    tellClosed(settings);
    port.postMessage({ failure: { kind, message } } satisfies WorkerReply);
    port.close();
  }
}

if (parentPort !== null) {
  const settings = workerData as WorkerSettings;
  if (settings.values === undefined) void serve(parentPort, settings);
  else void serveFile(parentPort, { ...settings, ...settings.values });
}
