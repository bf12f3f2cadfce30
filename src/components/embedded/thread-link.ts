import { randomUUID } from 'node:crypto';
import type { StateError } from '../../state/errors.ts';
import type { ConnectionListener } from '../remote/connection.ts';
import { HolderConnection } from './holder-connection.ts';
import type { WorkerReply } from './protocol.ts';
import type { Thread } from './thread.ts';

/** Receives what a {@link ThreadLink} learns. */
export interface ThreadLinkListener {
  /** Other processes have joined, or none is there any more. Whoever believes to be alone must know before it returns. */
  readonly onSharing: () => void;
  readonly onNotice: (text: string) => void;
  /** As in the settings of the thread. Default: false. */
  readonly isTransient?: boolean | undefined;
}

interface Line {
  readonly connection: HolderConnection;
  readonly listener: ConnectionListener;
}

/** The thread of this process that has a state directory, for a store that had joined another process before. */
export class ThreadLink {
  readonly #thread: Thread;
  readonly #listener: ThreadLinkListener;
  readonly #serverId = randomUUID();
  readonly #lines = new Map<number, Line>();
  #number = 0;
  #isShared = true;
  #isLost = false;

  constructor(thread: Thread, listener: ThreadLinkListener) {
    this.#thread = thread;
    this.#listener = listener;
    if (thread.warning !== undefined) listener.onNotice(thread.warning);
    thread.listen({ onReply: (reply) => this.#onReply(reply), onLost: (error) => this.#onLost(error) });
    thread.send({ share: { isTakeover: true } });
  }

  /** Whether no other process has joined. */
  get isAlone(): boolean {
    return !this.#isShared && !this.#isLost;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  connect(listener: ConnectionListener, listens: boolean): HolderConnection {
    const number = this.#number++;
    const line = {
      send: (frame: Uint8Array): void => this.#thread.send({ line: { number, listens, frame } }),
      destroy: (): void => this.#end(number),
    };
    const { isTransient } = this.#listener;
    const connection = new HolderConnection(this.#serverId, line, { ...listener, isTransient });
    this.#lines.set(number, { connection, listener });
    return connection;
  }

  #end(number: number): void {
    if (this.#lines.delete(number) && !this.#isLost) this.#thread.send({ line: { number } });
  }

  #onReply({ line, hasGuests, notice }: WorkerReply): void {
    if (line !== undefined) this.#lines.get(line.number)?.connection.receive(line.frame);
    if (notice !== undefined) this.#listener.onNotice(notice);
    if (hasGuests === undefined) return;
    this.#isShared = hasGuests;
    this.#listener.onSharing();
    if (hasGuests) this.#thread.send({ admit: true });
  }

  #onLost(error: StateError): void {
    this.#isLost = true;
    this.#listener.onSharing();
    for (const { connection, listener } of [...this.#lines.values()]) {
      connection.lose(error.message);
      listener.onLost();
    }
    this.#lines.clear();
  }

  async close(): Promise<void> {
    if (!this.#isLost) await this.#thread.close();
  }
}
