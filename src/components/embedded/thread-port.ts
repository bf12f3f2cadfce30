import type { MessagePort } from 'node:worker_threads';
import { BinaryWriter } from './binary-codec.ts';
import type { ThreadFailure, ThreadNotice, WorkerReply, WorkerRequest, WorkerSettings } from './protocol.ts';

/** The engine of a thread. */
export interface ThreadEngine {
  /** The present failure; `undefined` while the engine works. */
  readonly failure: ThreadFailure | undefined;
  close(): void;
}

/** The thread's side of its messages. Each reply reports a change of the engine's failure. */
export class ThreadPort {
  /** For the next packet of answers. */
  readonly writer: BinaryWriter = new BinaryWriter();
  readonly #port: MessagePort;
  readonly #closed: Int32Array;
  readonly #engine: ThreadEngine;
  #reported: ThreadFailure | undefined;

  constructor(port: MessagePort, { closed }: Pick<WorkerSettings, 'closed'>, engine: ThreadEngine) {
    this.#port = port;
    this.#closed = closed;
    this.#engine = engine;
  }

  /** Reports that the store cannot be opened, and lets the thread end. */
  static refuse(port: MessagePort, { closed }: Pick<WorkerSettings, 'closed'>, { kind, message }: ThreadFailure): void {
    markClosed(closed);
    port.postMessage({ failure: { kind, message } } satisfies WorkerReply);
    port.close();
  }

  /** Reports that the store is open. `run` gets all requests. */
  open(warning: string | undefined, run: (request: WorkerRequest) => void): void {
    this.#port.on('message', run);
    this.#post({ opened: true, ...(warning !== undefined && { warning }) });
  }

  /** Sends the packet of answers to reads. */
  answerReads(): void {
    this.#post({ reads: this.writer.take() });
  }

  /** Sends the packet of answers to commits. */
  answerCommits(): void {
    this.#post({ commits: this.writer.take() });
  }

  /** Tells of the processes that have joined. */
  tell(notice: ThreadNotice): void {
    this.#post(notice);
  }

  /** Reports a change of the engine's failure, if there is one. */
  report(): void {
    if (this.#hasChange) this.#post({});
  }

  get #hasChange(): boolean {
    return this.#engine.failure?.message !== this.#reported?.message;
  }

  #post(reply: WorkerReply): void {
    const change = this.#hasChange ? this.#change() : undefined;
    const buffers = [reply.reads, reply.commits, reply.line?.frame].flatMap((packet) =>
      packet === undefined ? [] : [packet.buffer],
    );
    this.#port.postMessage({ ...reply, ...change }, buffers as ArrayBuffer[]);
  }

  #change(): Pick<WorkerReply, 'failure'> {
    const { failure } = this.#engine;
    this.#reported = failure && { kind: failure.kind, message: failure.message };
    return { failure: this.#reported ?? null };
  }

  /** Closes the database and lets the thread end by itself: terminating it in the driver would abort the process. */
  close(): void {
    this.#engine.close();
    markClosed(this.#closed);
    this.#port.close();
  }
}

function markClosed(closed: Int32Array): void {
  Atomics.store(closed, 0, 1);
  Atomics.notify(closed, 0);
}
