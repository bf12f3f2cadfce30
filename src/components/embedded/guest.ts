import { BinaryReader, BinaryWriter } from './binary-codec.ts';
import type { CommitQueue } from './commit-queue.ts';
import {
  CLOSE_SESSION,
  COMMIT,
  DONE,
  FAILED,
  GOODBYE,
  MESSAGE,
  NOTIFY,
  OPEN_SESSION,
  READ,
  readGroup,
  readTexts,
  SESSION_CLOSED,
  writeHead,
} from './guest-protocol.ts';
import { type GroupOutcome, readRead, type ThreadFailure, writeAnswer, writeFailure } from './protocol.ts';
import type { SqliteEngine } from './sqlite-engine.ts';

/** The dependencies of a {@link Guest}. */
export interface GuestDeps {
  readonly engine: SqliteEngine;
  readonly commits: CommitQueue;
  /** Whether it is sent messages. */
  readonly listens: boolean;
  /** Sends it a frame. */
  readonly send: (frame: Uint8Array) => void;
  /** Sends texts to all that listen. */
  readonly tell: (messages: readonly string[]) => void;
}

/** A connection of a process that has joined: does its calls. */
export class Guest {
  readonly #deps: GuestDeps;
  readonly #writer = new BinaryWriter();

  constructor(deps: GuestDeps) {
    this.#deps = deps;
  }

  /** Does a call. @throws RangeError if the frame is none. */
  receive(frame: Uint8Array): void {
    const reader = new BinaryReader(frame);
    const [operation, number] = [reader.byte(), reader.u32()];
    if (operation === READ) this.#read(reader, number);
    else if (operation === COMMIT) this.#commit(reader, number);
    else if (operation === NOTIFY) this.#notify(reader, number);
    else if (operation === OPEN_SESSION) this.#openSession(number);
    else if (operation === CLOSE_SESSION) this.#closeSession(reader, number);
    else throw new RangeError(`operation ${operation}`);
  }

  #read(reader: BinaryReader, number: number): void {
    writeHead(this.#writer, DONE, number);
    while (!reader.atEnd) writeAnswer(this.#writer, this.#deps.engine.read(readRead(reader)));
    this.#send();
  }

  #commit(reader: BinaryReader, number: number): void {
    const { messages, ...group } = readGroup(reader);
    this.#deps.commits.add([group], ([outcome]) => {
      // The cast is safe: a group has the outcome of one.
      this.#answerCommit(number, outcome as GroupOutcome);
      if (messages.length > 0 && outcome !== undefined && 'failed' in outcome && outcome.failed.length === 0)
        this.#deps.tell(messages);
    });
  }

  #answerCommit(number: number, outcome: GroupOutcome): void {
    const writer = this.#writer;
    if ('failure' in outcome) return this.#fail(number, outcome.failure);
    if ('isClosed' in outcome) writeHead(writer, SESSION_CLOSED, number);
    else {
      writeHead(writer, DONE, number);
      writer.u32(outcome.failed.length);
      for (const key of outcome.failed) writer.bytes(key);
    }
    this.#send();
  }

  #notify(reader: BinaryReader, number: number): void {
    this.#deps.tell(readTexts(reader));
    writeHead(this.#writer, DONE, number);
    this.#send();
  }

  #openSession(number: number): void {
    const session = this.#deps.engine.openSession();
    if (typeof session !== 'number') return this.#fail(number, session);
    writeHead(this.#writer, DONE, number);
    this.#writer.f64(session);
    this.#send();
  }

  #closeSession(reader: BinaryReader, number: number): void {
    // A group that waits was sent before.
    this.#deps.commits.flush();
    const closed = this.#deps.engine.closeSession(reader.f64());
    if ('kind' in closed) return this.#fail(number, closed);
    writeHead(this.#writer, DONE, number);
    this.#writer.f64(closed.last);
    this.#writer.text(closed.refused);
    this.#send();
  }

  #fail(number: number, failure: ThreadFailure): void {
    writeHead(this.#writer, FAILED, number);
    writeFailure(this.#writer, failure);
    this.#send();
  }

  #send(): void {
    this.#deps.send(this.#writer.take());
  }

  /** Tells it that the directory is about to be closed. */
  sayGoodbye(): void {
    writeHead(this.#writer, GOODBYE, 0);
    this.#send();
  }

  /** Sends it a text of another process, if it listens. */
  tell(message: string): void {
    if (!this.#deps.listens) return;
    writeHead(this.#writer, MESSAGE, 0);
    this.#writer.text(message);
    this.#send();
  }
}
