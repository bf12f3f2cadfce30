import { existsSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { StateError } from '../../state/errors.ts';
import { BUILT_IN } from './driver.ts';
import { errorOf, type WorkerReply, type WorkerRequest, type WorkerSettings } from './protocol.ts';

const require = createRequire(import.meta.url);

/** How long an exiting process waits for its threads to close their databases. */
const EXIT_WAIT_MS = 5000;

/** Callbacks from the thread to its owner. */
export interface ThreadListener {
  /** A reply has arrived. */
  onReply(reply: WorkerReply): void;
  /** The thread has ended unexpectedly. */
  onLost(error: StateError): void;
}

/**
 * The compiled worker. Node 20 cannot run TypeScript, so when this module runs from source (in the tests), the worker
 * of the last build is used; `npm test` builds first.
 */
function workerUrl(): URL {
  const fromSource = import.meta.url.endsWith('.ts');
  return new URL(fromSource ? '../../../dist/embedded-worker.cjs' : './embedded-worker.cjs', import.meta.url);
}

/** The worker's code in this thread. */
interface Served {
  readonly port: MessagePort;
  /** Closes the database at once. */
  readonly close: () => void;
}

/** Package for old versions of Node: see `SqliteConnection`. */
function canServeHere({ isTransient }: WorkerSettings): boolean {
  return isTransient === true && isBuiltin(BUILT_IN);
}

async function serveHere(settings: WorkerSettings): Promise<Served> {
  const { serve } = require(fileURLToPath(workerUrl())) as typeof import('./worker.ts');
  const { port1: port, port2 } = new MessageChannel();
  const close = await serve(port2, settings);
  // As a worker: the process is kept alive from the other side.
  port2.unref();
  return { port, close };
}

function startWorker(settings: WorkerSettings): Worker {
  // Does not inherit options of the process (loaders, watchers). node:sqlite warns that it is experimental.
  return new Worker(workerUrl(), {
    workerData: settings,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    name: 'insidecar-state',
  });
}

/**
 * The main thread's side of the worker: starts it, sends requests, closes it. It is never terminated from outside,
 * which would abort the process while SQLite works. The worker's code may run in this thread, too.
 */
export class Thread {
  /** The running threads of this process: there may be more of them than a process may have listeners. */
  static readonly #running: Set<Thread> = new Set();
  readonly #worker: Worker | MessagePort;
  /** Closes the database of this thread. */
  readonly #closeHere: (() => void) | undefined;
  readonly #settings: WorkerSettings;
  readonly #ended: Promise<void>;
  #listener: ThreadListener | undefined;
  /** A problem at the start, although it works. */
  warning: string | undefined;
  #isEnding = false;
  #error: unknown;

  private constructor(settings: WorkerSettings, served?: Served) {
    this.#settings = settings;
    this.#closeHere = served?.close;
    this.#worker = served?.port ?? startWorker(settings);
    if (Thread.#running.size === 0) process.on('exit', Thread.#onProcessExit);
    Thread.#running.add(this);
    this.#worker.on('error', (error) => {
      this.#error = error;
    });
    this.#ended = new Promise((resolve) => {
      this.#worker.once(served === undefined ? 'exit' : 'close', () => {
        this.#onEnd();
        resolve();
      });
    });
  }

  /** Starts the thread; if it cannot open the directory, rejects with the reason once it has ended. */
  static async open(settings: WorkerSettings): Promise<Thread> {
    const thread = new Thread(settings, canServeHere(settings) ? await serveHere(settings) : undefined);
    const reply = await thread.#firstReply();
    if (reply.failure) {
      await thread.#ended;
      throw errorOf(reply.failure);
    }
    thread.warning = reply.warning;
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
    // A port keeps the process alive from the first listener on.
    this.#worker.unref();
  }

  /** Sends a request; transfers its packets. */
  send(request: WorkerRequest): void {
    const packets = [request.reads, request.commits, request.line?.frame];
    const buffers = packets.flatMap((packet) => (packet === undefined ? [] : [packet.buffer]));
    this.#worker.postMessage(request, buffers as ArrayBuffer[]);
  }

  /** Keeps the process alive only while replies are pending. */
  setBusy(isBusy: boolean): void {
    if (isBusy) this.#worker.ref();
    else this.#worker.unref();
  }

  /** Lets the thread answer pending requests, close the database and end. */
  async close(): Promise<void> {
    if (!this.#isEnding) this.#worker.ref();
    this.#askToClose();
    await this.#ended;
  }

  #askToClose(): void {
    if (!this.#isEnding) this.send({ control: 'close' });
    this.#isEnding = true;
  }

  /**
   * When the process exits, Node stops its threads at any point. So close the databases first; in an exit handler, that
   * requires a blocking wait.
   */
  static readonly #onProcessExit = (): void => {
    for (const thread of Thread.#running) thread.#closeHere?.();
    for (const thread of Thread.#running) thread.#askToClose();
    const until = performance.now() + EXIT_WAIT_MS;
    for (const thread of Thread.#running)
      Atomics.wait(thread.#settings.closed, 0, 0, Math.max(0, until - performance.now()));
  };

  #onEnd(): void {
    Thread.#running.delete(this);
    if (Thread.#running.size === 0) process.off('exit', Thread.#onProcessExit);
    if (!this.#isEnding) this.#listener?.onLost(this.#lostError());
  }

  #lostError(): StateError {
    const { path, values } = this.#settings;
    const where = `${values === undefined ? 'state directory' : 'database file'} ${JSON.stringify(path)}`;
    const file = fileURLToPath(workerUrl());
    if (!existsSync(file)) {
      const message =
        `The ${where} cannot be opened: ${JSON.stringify(file)}, which its thread runs, is missing. ` +
        'If a bundler made this program, have it leave the package insidecar out ("external"), or copy ' +
        'node_modules/insidecar/dist/embedded-worker.cjs to that place.';
      return new StateError('failed', message, this.#error);
    }
    return new StateError('failed', `The thread of the ${where} has ended unexpectedly.`, this.#error);
  }
}
