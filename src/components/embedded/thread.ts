import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { StateError } from '../../state/errors.ts';
import { errorOf, type WorkerReply, type WorkerRequest, type WorkerSettings } from './protocol.ts';

/** How long an exit of the process waits for the thread to close the database. */
const EXIT_WAIT_MS = 5000;

/** What the thread tells its owner. */
export interface ThreadListener {
  /** An answer has come. */
  onReply(reply: WorkerReply): void;
  /** The thread has ended without being asked to. */
  onLost(error: StateError): void;
}

/**
 * The compiled worker. Node 20 runs no TypeScript, so when this module itself runs from its sources (the tests do
 * that), the worker of the last build is taken; `npm test` builds first.
 */
function workerUrl(): URL {
  const fromSource = import.meta.url.endsWith('.ts');
  return new URL(fromSource ? '../../../dist/embedded-worker.cjs' : './embedded-worker.cjs', import.meta.url);
}

/**
 * The main thread's side of the worker thread: starts it, sends, sees to its end. It is never terminated from
 * outside, which would abort the process while SQLite works.
 */
export class Thread {
  readonly #worker: Worker;
  readonly #settings: WorkerSettings;
  readonly #ended: Promise<void>;
  #listener: ThreadListener | undefined;
  #isEnding = false;
  #error: unknown;

  private constructor(settings: WorkerSettings) {
    this.#settings = settings;
    // Options of the process (loaders, watchers) are not for the thread. node:sqlite warns that it is experimental.
    this.#worker = new Worker(workerUrl(), {
      workerData: settings,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      name: 'insidecar-state',
    });
    process.on('exit', this.#onProcessExit);
    this.#worker.on('error', (error) => {
      this.#error = error;
    });
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#onEnd();
        resolve();
      });
    });
  }

  /** Starts it; rejects, once it has ended again, with why it cannot open the directory. */
  static async open(settings: WorkerSettings): Promise<Thread> {
    const thread = new Thread(settings);
    const reply = await thread.#firstReply();
    if (reply.failure) {
      await thread.#ended;
      throw errorOf(reply.failure);
    }
    thread.#worker.unref();
    return thread;
  }

  #firstReply(): Promise<WorkerReply> {
    return new Promise((resolve, reject) => {
      this.#worker.once('message', resolve);
      void this.#ended.then(() => reject(this.#lostError()));
    });
  }

  listen(listener: ThreadListener): void {
    this.#listener = listener;
    this.#worker.on('message', (reply: WorkerReply) => listener.onReply(reply));
  }

  /** Sends a request; its packets are handed over. */
  send(request: WorkerRequest): void {
    const buffers = [request.reads, request.commits].flatMap((packet) => (packet === undefined ? [] : [packet.buffer]));
    this.#worker.postMessage(request, buffers as ArrayBuffer[]);
  }

  /** Whether answers are awaited: only then does the thread keep the process alive. */
  setBusy(isBusy: boolean): void {
    if (isBusy) this.#worker.ref();
    else this.#worker.unref();
  }

  /** Has it answer what was sent, close the database and end. */
  async close(): Promise<void> {
    if (!this.#isEnding) {
      this.#isEnding = true;
      this.#worker.ref();
      this.send({ control: 'close' });
    }
    await this.#ended;
  }

  /**
   * When the process exits, Node stops its threads wherever they are. So the database is closed first; in an exit
   * handler that means to wait without events.
   */
  readonly #onProcessExit = (): void => {
    if (!this.#isEnding) this.send({ control: 'close' });
    this.#isEnding = true;
    Atomics.wait(this.#settings.closed, 0, 0, EXIT_WAIT_MS);
  };

  #onEnd(): void {
    process.off('exit', this.#onProcessExit);
    if (!this.#isEnding) this.#listener?.onLost(this.#lostError());
  }

  #lostError(): StateError {
    const where = JSON.stringify(this.#settings.path);
    const file = fileURLToPath(workerUrl());
    if (!existsSync(file)) {
      const message =
        `The state directory ${where} cannot be opened: ${JSON.stringify(file)}, which its thread runs, is missing. ` +
        'If a bundler made this program, have it leave the package insidecar out ("external"), or copy ' +
        'node_modules/insidecar/dist/embedded-worker.cjs to that place.';
      return new StateError('failed', message, this.#error);
    }
    return new StateError('failed', `The thread of the state directory ${where} has ended unexpectedly.`, this.#error);
  }
}
