import type { MessagePort } from 'node:worker_threads';
import { isStateError, quote, StateError } from '../../state/errors.ts';
import { BinaryReader } from '../embedded/binary-codec.ts';
import { loadSqlite } from '../embedded/driver.ts';
import type { WorkerRequest } from '../embedded/protocol.ts';
import { ThreadPort } from '../embedded/thread-port.ts';
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
    new FileThread(port, engine, settings).start(settings.path);
  } catch (error) {
    ThreadPort.refuse(port, settings, isStateError(error) ? error : new StateError('failed', String(error)));
  }
}

/** The thread's side of a database file: runs requests on the engine and replies. */
class FileThread {
  readonly #port: ThreadPort;
  readonly #engine: FileEngine;

  constructor(port: MessagePort, engine: FileEngine, settings: FileThreadSettings) {
    this.#port = new ThreadPort(port, settings, engine);
    this.#engine = engine;
  }

  start(path: string): void {
    this.#port.open(warningOf(this.#engine.sqliteVersion, path), (request) => this.#run(request));
  }

  #run({ reads, commits, control }: WorkerRequest): void {
    if (reads !== undefined) this.#answerReads(new BinaryReader(reads));
    if (commits !== undefined) this.#answerWrites(new BinaryReader(commits));
    if (control === 'clean') this.#engine.clean();
    if (control === 'close') this.#port.close();
  }

  #answerReads(packet: BinaryReader): void {
    const { writer } = this.#port;
    while (!packet.atEnd) {
      const found = this.#engine.read(unpackRead(packet));
      if (isStateError(found)) packFailure(writer, found);
      else packFound(writer, found);
    }
    this.#port.answerReads();
  }

  #answerWrites(packet: BinaryReader): void {
    const { writer } = this.#port;
    const writes: ReturnType<typeof unpackWrite>[] = [];
    while (!packet.atEnd) writes.push(unpackWrite(packet));
    for (const answer of this.#engine.write(writes)) {
      if (isStateError(answer)) packFailure(writer, answer);
      else if ('events' in answer) packEvents(writer, answer);
      else packOutcomes(writer, answer);
    }
    this.#port.answerCommits();
  }
}

function warningOf(version: readonly number[], path: string): string | undefined {
  const at = SAFE_VERSION.findIndex((part, index) => part !== version[index]);
  if (at < 0 || (version[at] ?? 0) > (SAFE_VERSION[at] ?? 0)) return undefined;
  const what = `SQLite ${version.join('.')} can damage a file that several processes write to at the same moment`;
  return `${what}; 3.51.3 cannot. If only this process uses ${quote(path)}, there is no danger.`;
}
