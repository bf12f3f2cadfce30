import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { isStateError, quote, type StateError } from '../../state/errors.ts';
import type { StateContext } from '../../state/store.ts';
import {
  type ConnectionListener,
  ConnectionLostError,
  type RemoteConnection,
  type RemoteServer,
} from '../remote/connection.ts';
import { type Door, inUseText, notSharedError, readDoor, readHolder } from './directory.ts';
import { socketOf } from './door.ts';
import { FramedSocket } from './frames.ts';
import { readWelcome } from './greeting.ts';
import { helloOf, MAX_ANSWER_BYTES } from './guest-protocol.ts';
import { HolderConnection } from './holder-connection.ts';
import type { ThreadLink } from './thread-link.ts';

/** The least and the most time between two attempts to get a directory that another process seems to hold. */
const PAUSE_MS: readonly [number, number] = [5, 30];
/** The time between two attempts to join whoever has taken the directory over. */
const JOIN_MS = 10;
/**
 * How long a process waits for each connection of those that joined before it, and at most, before it tries to take the
 * directory over: if all begin at once, their threads are in each other's way.
 */
const [RANK_MS, MAX_RANK_MS] = [30, 120];
/** For so long, a process that holds the directory may not have written its record yet. */
const OPENING_MS = 1_000;

/** The dependencies of a {@link DirectoryServer}. */
export interface DirectoryServerDeps {
  /** The directory. */
  readonly path: string;
  readonly logger: StateContext['logger'];
  /** As in the settings of its holder's thread. Default: false. */
  readonly isTransient?: boolean | undefined;
  /** Opens the directory in this process; rejects with `in-use` while another one holds it. */
  readonly takeOver: () => Promise<ThreadLink>;
}

/**
 * The holder of a state directory as the server of a store: another process, or this one after it has taken the
 * directory over, because the one before has ended.
 */
export class DirectoryServer implements RemoteServer {
  readonly #deps: DirectoryServerDeps;
  readonly name: string;
  readonly place: string;
  readonly listensOn = 'reads';
  /** The thread of this process that has the directory. */
  #own: ThreadLink | undefined;
  #takingOver: Promise<void> | undefined;
  #isClosed = false;
  /** The last holder that was joined, and after how many other connections. */
  #joined = { serverId: '', rank: 0 };

  constructor(deps: DirectoryServerDeps) {
    this.#deps = deps;
    this.name = `the state directory ${quote(deps.path)}`;
    this.place = deps.path;
  }

  /** Whether this process holds the directory, and no other has it open. */
  get isAlone(): boolean {
    return this.#own?.isAlone === true;
  }

  async connect(listener: ConnectionListener, listens: boolean, signal: AbortSignal): Promise<RemoteConnection> {
    const since = performance.now();
    for (;;) {
      if (this.#own?.isLost === true) this.#own = undefined;
      if (this.#own !== undefined) return this.#own.connect(listener, listens);
      const joined = await this.#join(listener, listens, signal);
      if (joined !== undefined) return joined;
      if (signal.aborted || this.#isClosed)
        throw new ConnectionLostError(`${inUseText(this.place)}, and it does not answer`);
      if (performance.now() - since < Math.min(this.#joined.rank * RANK_MS, MAX_RANK_MS)) {
        await delay(JOIN_MS, undefined, { ref: false });
        continue;
      }
      const takingOver = this.#takingOver ?? this.#beginToTakeOver(since);
      // Another process may be faster, and is joined while this one still tries.
      await Promise.race([takingOver, delay(JOIN_MS, undefined, { ref: false })]);
    }
  }

  /** Connects to the holder; resolves with nothing if none answers. @throws StateError if it refuses. */
  async #join(
    listener: ConnectionListener,
    listens: boolean,
    signal: AbortSignal,
  ): Promise<HolderConnection | undefined> {
    const door = readDoor(this.place);
    if (door === undefined) return undefined;
    try {
      const { isTransient } = this.#deps;
      const admitted = (serverId: string, rank: number): void => {
        const isSame = serverId === this.#joined.serverId;
        this.#joined = { serverId, rank: isSame ? Math.min(rank, this.#joined.rank) : rank };
      };
      return await joinAt(socketOf(this.place, door), door, { listener, isTransient, listens, signal, admitted });
    } catch (error) {
      if (isStateError(error)) throw error;
      return undefined;
    }
  }

  #beginToTakeOver(since: number): Promise<void> {
    const takingOver = this.#takeOver(since).finally(() => {
      this.#takingOver = undefined;
    });
    // Its failure counts for those who wait for it; maybe all have joined another process by then.
    takingOver.catch(() => undefined);
    this.#takingOver = takingOver;
    return takingOver;
  }

  /** Opens the directory in this process. If another one was faster, resolves after a moment. */
  async #takeOver(since: number): Promise<void> {
    const { takeOver, logger } = this.#deps;
    try {
      const own = await takeOver();
      if (this.#isClosed) return await own.close();
      this.#own = own;
      logger.info({ directory: this.place }, 'this process holds the state directory now');
    } catch (error) {
      if (!isStateError(error) || error.kind !== 'in-use') throw error;
      const holder = readHolder(this.place);
      const isForItself = holder?.isOpen === true && holder.door === undefined;
      if (isForItself && performance.now() - since > OPENING_MS) throw notSharedError(this.place, error);
      const [least, most] = PAUSE_MS;
      await delay(least + Math.random() * (most - least), undefined, { ref: false });
    }
  }

  /** Closes the directory if this process holds it. Another process takes it over. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#takingOver?.catch(() => undefined);
    await this.#own?.close();
  }
}

/** How a process joins a holder. */
interface JoinOptions {
  readonly listener: ConnectionListener;
  readonly isTransient: boolean | undefined;
  readonly listens: boolean;
  readonly signal: AbortSignal;
  readonly admitted: (serverId: string, rank: number) => void;
}

/** Connects to the socket of a holder. @throws StateError if it refuses; Error if it does not answer. */
function joinAt(path: string, { key }: Door, options: JoinOptions): Promise<HolderConnection> {
  const { listener, isTransient, listens, signal, admitted } = options;
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    let connection: HolderConnection | undefined;
    const giveUp = (): void => framed.destroy();
    const framed: FramedSocket = new FramedSocket(socket, MAX_ANSWER_BYTES, {
      onFrame: (frame) => {
        if (connection !== undefined) return connection.receive(frame);
        signal.removeEventListener('abort', giveUp);
        try {
          const { serverId, rank } = readWelcome(frame, key);
          connection = new HolderConnection(serverId, framed, { ...listener, isTransient });
          admitted(serverId, rank);
          resolve(connection);
        } catch (error) {
          reject(error as StateError);
          framed.destroy();
        }
      },
      onEnd: (reason) => {
        signal.removeEventListener('abort', giveUp);
        reject(new Error(reason));
        connection?.lose(`the holder of the state directory is gone: ${reason}`);
        if (connection !== undefined) listener.onLost(connection.isHandOver);
      },
    });
    signal.addEventListener('abort', giveUp);
    socket.once('connect', () => framed.send(Buffer.from(JSON.stringify(helloOf(key, listens)))));
    if (signal.aborted) giveUp();
  });
}
