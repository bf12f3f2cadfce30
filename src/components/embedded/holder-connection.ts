import type { Entry, KeyedEntry, KeyRange, Scan } from '../../state/store.ts';
import {
  type ClosedSession,
  type CommitGroup,
  ConnectionLostError,
  type RemoteConnection,
  refusalsOf,
  SessionClosedError,
} from '../remote/connection.ts';
import type { FoundDurability } from '../remote/durability.ts';
import type { PendingGroup } from '../remote/pending-group.ts';
import { BinaryReader, BinaryWriter } from './binary-codec.ts';
import {
  CLOSE_SESSION,
  COMMIT,
  DONE,
  GOODBYE,
  MESSAGE,
  NOTIFY,
  OPEN_SESSION,
  READ,
  readTexts,
  SESSION_CLOSED,
  writeGroup,
  writeHead,
  writeTexts,
} from './guest-protocol.ts';
import { checkDone, readEntries, readEntry, readNumber, writeCount, writeGet, writeScan } from './protocol.ts';

/** A way to the thread that has the directory: a socket, or the port of a thread of this process. */
export interface HolderLine {
  send(frame: Uint8Array): void;
  destroy(): void;
}

interface PendingCall {
  /** Reads the answer and settles. */
  readonly settle: (reader: BinaryReader) => void;
  readonly reject: (error: Error) => void;
}

const SYNCED: FoundDurability = { durability: 'synced', reason: 'the holder of the directory syncs each commit' };
const UNSYNCED: FoundDurability = {
  ...{ durability: 'none', isChosen: true },
  reason: 'the directory is for the time in which processes use it',
};

/** What those who join are told of a directory. */
export interface HolderListener {
  readonly onMessage: (message: string) => void;
  /** As in the settings of the holder's thread. Default: false. */
  readonly isTransient?: boolean | undefined;
}

/** A connection to the process that holds a state directory. */
export class HolderConnection implements RemoteConnection {
  readonly serverId: string;
  readonly durability: FoundDurability;
  readonly #line: HolderLine;
  readonly #onMessage: (message: string) => void;
  readonly #writer = new BinaryWriter();
  readonly #pending = new Map<number, PendingCall>();
  #number = 0;
  #lost: ConnectionLostError | undefined;
  #isHandOver = false;

  constructor(serverId: string, line: HolderLine, { onMessage, isTransient }: HolderListener) {
    this.serverId = serverId;
    this.durability = isTransient ? UNSYNCED : SYNCED;
    this.#line = line;
    this.#onMessage = onMessage;
  }

  /** Whether the holder has said that it closes the directory. */
  get isHandOver(): boolean {
    return this.#isHandOver;
  }

  /** A frame of the holder has arrived. */
  receive(frame: Uint8Array): void {
    const reader = new BinaryReader(frame);
    const [kind, number] = [reader.byte(), reader.u32()];
    if (kind === MESSAGE) return this.#onMessage(reader.text());
    if (kind === GOODBYE) {
      this.#isHandOver = true;
      return;
    }
    const call = this.#pending.get(number);
    this.#pending.delete(number);
    try {
      if (kind === SESSION_CLOSED) throw new SessionClosedError('the session has ended');
      if (kind !== DONE) checkDone(reader);
      call?.settle(reader);
    } catch (error) {
      call?.reject(error as Error);
    }
  }

  /** The connection has ended. */
  lose(reason: string): void {
    this.#lost ??= new ConnectionLostError(reason);
    for (const { reject } of this.#pending.values()) reject(this.#lost);
    this.#pending.clear();
  }

  #call<T>(operation: number, pack: (writer: BinaryWriter) => void, unpack: (reader: BinaryReader) => T): Promise<T> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const number = this.#number++ % 2 ** 32;
    writeHead(this.#writer, operation, number);
    pack(this.#writer);
    return new Promise((resolve, reject) => {
      this.#pending.set(number, { settle: (reader) => resolve(unpack(reader)), reject });
      this.#line.send(this.#writer.take());
    });
  }

  /** All from one state of the store. */
  get(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    const pack = (writer: BinaryWriter): void => {
      for (const key of keys) writeGet(writer, key);
    };
    return this.#call(READ, pack, (reader) => keys.map(() => readEntry(reader)));
  }

  scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    return this.#call(READ, (writer) => writeScan(writer, scan), readEntries);
  }

  count(range: KeyRange, limit: number): Promise<number> {
    return this.#call(READ, (writer) => writeCount(writer, range, limit), readNumber);
  }

  openSession(): Promise<number> {
    return this.#call(OPEN_SESSION, nothing, (reader) => reader.f64());
  }

  closeSession(session: number, unanswered: CommitGroup | undefined): Promise<ClosedSession> {
    return this.#call(
      CLOSE_SESSION,
      (writer) => writer.f64(session),
      (reader) => {
        const [group, refused] = [reader.f64(), reader.text()];
        const isMeant = group === unanswered?.number && refused !== '';
        return { group, refusals: isMeant ? refusalsOf(refused.split(',').map(Number)) : [] };
      },
    );
  }

  commit(pending: PendingGroup): Promise<readonly string[]> {
    return this.#call(COMMIT, (writer) => writeGroup(writer, pending), readTexts);
  }

  notify(messages: readonly string[]): Promise<void> {
    return this.#call(NOTIFY, (writer) => writeTexts(writer, messages), nothing);
  }

  destroy(): void {
    this.#line.destroy();
    this.lose('the connection was closed');
  }
}

function nothing(): void {
  // Neither arguments nor an answer.
}
