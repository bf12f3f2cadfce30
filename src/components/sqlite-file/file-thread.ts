import type { MessagePort } from 'node:worker_threads';
import { isStateError, quote, StateError } from '../../state/errors.ts';
import { BinaryReader, BinaryWriter } from '../embedded/binary-codec.ts';
import { loadSqlite } from '../embedded/driver.ts';
import type { Failure, WorkerReply, WorkerRequest } from '../embedded/protocol.ts';
import { type EngineSettings, FileEngine } from './file-engine.ts';
import { packEvents, packFailure, packFound, packOutcomes, unpackRead, unpackWrite } from './protocol.ts';

/** SQLite mends with it what may damage a log that two processes use (sqlite.org/wal.html#walresetbug). */
const SAFE_VERSION: readonly number[] = [3, 51, 3];

/** Settings of the thread. */
export interface FileThreadSettings extends EngineSettings {
  /** Set to 1 when the database is closed, for an exit that cannot wait for a message. */
  readonly closed: Int32Array;
}

/** Opens a database file in this thread and serves it; reports an error if it cannot be opened, and ends. */
export async function serveFile(port: MessagePort, settings: FileThreadSettings): Promise<void> {
  try {
    const engine = new FileEngine(await loadSqlite(), settings);
    new FileThread(port, engine, settings.closed).start(settings.path);
  } catch (error) {
    const { kind, message } = isStateError(error) ? error : new StateError('failed', String(error));
    tellClosed(settings.closed);
    port.postMessage({ failure: { kind, message } } satisfies WorkerReply);
    port.close();
  }
}

/** The thread's side of a database file: runs requests on the engine and replies. */
class FileThread {
  readonly #port: MessagePort;
  readonly #engine: FileEngine;
  readonly #closed: Int32Array;
  readonly #writer = new BinaryWriter();
  #reported: Failure | undefined;

  constructor(port: MessagePort, engine: FileEngine, closed: Int32Array) {
    this.#port = port;
    this.#engine = engine;
    this.#closed = closed;
  }

  start(path: string): void {
    this.#port.on('message', (request: WorkerRequest) => this.#run(request));
    const warning = warningOf(this.#engine.sqliteVersion, path);
    this.#post({ opened: true, ...(warning !== undefined && { warning }) });
  }

  #run({ reads, commits, control }: WorkerRequest): void {
    if (reads !== undefined) this.#answerReads(new BinaryReader(reads));
    if (commits !== undefined) this.#answerWrites(new BinaryReader(commits));
    if (control === 'clean') this.#engine.clean();
    if (control === 'close') this.#close();
  }

  #answerReads(packet: BinaryReader): void {
    while (!packet.atEnd) {
      const found = this.#engine.read(unpackRead(packet));
      if (isStateError(found)) packFailure(this.#writer, found);
      else packFound(this.#writer, found);
    }
    this.#post({ reads: this.#writer.take() });
  }

  #answerWrites(packet: BinaryReader): void {
    const writes: ReturnType<typeof unpackWrite>[] = [];
    while (!packet.atEnd) writes.push(unpackWrite(packet));
    for (const answer of this.#engine.write(writes)) {
      if (isStateError(answer)) packFailure(this.#writer, answer);
      else if ('events' in answer) packEvents(this.#writer, answer.events);
      else packOutcomes(this.#writer, answer);
    }
    this.#post({ commits: this.#writer.take() });
  }

  /** With the change of the engine's failure, if there is one; `null` if it works again. */
  #post(reply: WorkerReply): void {
    const { failure } = this.#engine;
    const hasChanged = failure?.message !== this.#reported?.message;
    this.#reported = failure && { kind: failure.kind, message: failure.message };
    const buffers = [reply.reads, reply.commits].flatMap((packet) => (packet === undefined ? [] : [packet.buffer]));
    const told = hasChanged ? { ...reply, failure: this.#reported ?? null } : reply;
    this.#port.postMessage(told, buffers as ArrayBuffer[]);
  }

  /** Lets the thread end by itself: terminating it in the driver would abort the process. */
  #close(): void {
    this.#engine.close();
    tellClosed(this.#closed);
    this.#port.close();
  }
}

function tellClosed(closed: Int32Array): void {
  Atomics.store(closed, 0, 1);
  Atomics.notify(closed, 0);
}

function warningOf(version: readonly number[], path: string): string | undefined {
  const at = SAFE_VERSION.findIndex((part, index) => part !== version[index]);
  if (at < 0 || (version[at] ?? 0) > (SAFE_VERSION[at] ?? 0)) return undefined;
  const what = `SQLite ${version.join('.')} can damage a file that several processes write to at the same moment`;
  return `${what}; 3.51.3 cannot. If only this process uses ${quote(path)}, there is no danger.`;
}
