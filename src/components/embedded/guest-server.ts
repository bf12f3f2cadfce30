import { randomUUID } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { isStateError, quote } from '../../state/errors.ts';
import type { CommitQueue } from './commit-queue.ts';
import { type Door, recordOpening } from './directory.ts';
import { openDoor, removeSocket } from './door.ts';
import { FramedSocket } from './frames.ts';
import { readHello, refusal, welcome } from './greeting.ts';
import { Guest } from './guest.ts';
import { GREETING_LIMIT_MS, type Hello, MAX_CALL_BYTES, MAX_GREETING_BYTES } from './guest-protocol.ts';
import { changeIfPossible } from './private-files.ts';
import type { LineRequest, ThreadNotice } from './protocol.ts';
import type { SqliteEngine } from './sqlite-engine.ts';

/** When the last guest has been gone for so long, its hosts count as dead, too: longer than the lease of a host. */
const EMPTY_MS = 30_000;
/** A guest that reads nothing while so many bytes wait for it stands still: it is cut off. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
const MAX_CONNECTIONS = 1_000;

/** The dependencies of a {@link GuestServer}. */
export interface GuestServerDeps {
  readonly path: string;
  readonly engine: SqliteEngine;
  readonly commits: CommitQueue;
  /** Whether the process was a guest itself before, and so knows that there may be others. */
  readonly isTakeover: boolean;
  /** Tells the main thread of the process. */
  readonly post: (notice: ThreadNotice) => void;
}

/**
 * Lets other processes join the holder of a directory, in the thread that has its database: whatever keeps the main
 * thread of the process busy does not hold them up. The first of them is admitted once the main thread knows that the
 * process is not alone any more.
 */
export class GuestServer {
  readonly #deps: GuestServerDeps;
  readonly #serverId = randomUUID();
  readonly #server: Server;
  readonly #guests = new Map<FramedSocket, Guest>();
  /** The connections of the main thread, by number. */
  readonly #lines = new Map<number, Guest>();
  #door: Door | undefined;
  #isShared: boolean;
  #isClosed = false;
  /** Admit those who wait for the main thread. */
  #waiting: (() => void)[] = [];
  #empty: NodeJS.Timeout | undefined;

  constructor(deps: GuestServerDeps) {
    this.#deps = deps;
    this.#isShared = deps.isTakeover;
    this.#server = createServer((socket) => this.#accept(socket)).unref();
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /** Whether the process knows that others may have the directory open. */
  get isShared(): boolean {
    return this.#isShared;
  }

  async open(): Promise<void> {
    const { path, post } = this.#deps;
    try {
      this.#door = await openDoor(this.#server, path);
      recordOpening(path, this.#door);
      this.#server.on('error', (error) => post({ notice: `the socket of ${quote(path)} fails: ${error.message}` }));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      changeIfPossible(() => recordOpening(path));
      post({ notice: `no other process can join the state directory ${quote(path)}, since no socket opens: ${why}` });
    }
    this.#awaitEmptiness();
  }

  #accept(socket: Socket): void {
    let receive = (frame: Buffer): void => {
      // A guest waits for its answer.
      receive = () => framed.destroy();
      this.#greet(framed, frame, (hello) => {
        receive = this.#admit(framed, hello);
      });
    };
    const limit = setTimeout(() => framed.destroy(), GREETING_LIMIT_MS).unref();
    const framed = new FramedSocket(socket, MAX_GREETING_BYTES, {
      onFrame: (frame) => {
        clearTimeout(limit);
        receive(frame);
      },
      onEnd: () => {
        clearTimeout(limit);
        this.#guests.delete(framed);
        this.#awaitEmptiness();
      },
    });
  }

  #greet(framed: FramedSocket, frame: Buffer, admit: (hello: Hello) => void): void {
    const { path, post } = this.#deps;
    try {
      const hello = readHello(frame, path, this.#door?.key ?? '');
      // One that has connected just before the close would ask a database that is closed.
      if (hello === undefined || this.#isClosed) return framed.destroy();
      if (this.#isShared) return admit(hello);
      if (this.#waiting.push(() => admit(hello)) === 1) post({ hasGuests: true });
    } catch (error) {
      if (!isStateError(error)) throw error;
      framed.send(refusal(error));
      framed.end();
    }
  }

  #admit(framed: FramedSocket, { listens }: Hello): (frame: Buffer) => void {
    const { engine, commits } = this.#deps;
    clearTimeout(this.#empty);
    framed.maxBytes = MAX_CALL_BYTES;
    const guest = new Guest({
      ...{ engine, commits, listens },
      send: (frame) => framed.send(frame),
      tell: (messages) => this.tell(messages, true),
    });
    const rank = this.#guests.size;
    this.#guests.set(framed, guest);
    framed.send(welcome(this.#serverId, this.#door?.key ?? '', rank));
    return (frame) => guest.receive(frame);
  }

  /** The main thread knows that there are guests. */
  admitAll(): void {
    this.#isShared = true;
    for (const admit of this.#waiting.splice(0)) admit();
    this.#awaitEmptiness();
  }

  /** Tells the main thread when it is alone again: a guest that comes back has to wait for it. */
  #awaitEmptiness(): void {
    clearTimeout(this.#empty);
    if (!this.#isShared || this.#guests.size > 0) return;
    this.#empty = setTimeout(() => {
      this.#isShared = false;
      this.#deps.post({ hasGuests: false });
    }, EMPTY_MS).unref();
  }

  /** Does a call of the main thread on one of its connections, as of a guest. */
  receive({ number, listens = false, frame }: LineRequest): void {
    const { engine, commits, post } = this.#deps;
    if (frame === undefined) {
      this.#lines.delete(number);
      return;
    }
    const guest =
      this.#lines.get(number) ??
      new Guest({
        ...{ engine, commits, listens },
        send: (answer) => post({ line: { number, frame: answer } }),
        tell: (messages) => this.tell(messages, true),
      });
    this.#lines.set(number, guest);
    guest.receive(frame);
  }

  /** Sends texts to all that listen; to the main thread as well, unless they are its own. */
  tell(messages: readonly string[], isOfOthers: boolean): void {
    if (isOfOthers && !this.#deps.isTakeover) this.#deps.post({ messages });
    for (const message of messages) {
      for (const guest of this.#lines.values()) guest.tell(message);
      for (const [framed, guest] of this.#guests) {
        if (framed.unreadBytes > MAX_UNREAD_BYTES) framed.destroy();
        else guest.tell(message);
      }
    }
  }

  /** Takes no more guests; before the database is closed, since the next holder has a socket of the same name. */
  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    clearTimeout(this.#empty);
    this.#server.close();
    if (this.#door !== undefined) removeSocket(this.#door.socket);
    for (const [framed, guest] of this.#guests) {
      guest.sayGoodbye();
      framed.end();
    }
  }
}
