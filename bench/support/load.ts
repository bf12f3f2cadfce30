import { connect, type Socket } from 'node:net';

const END_OF_HEAD = Buffer.from('\r\n\r\n');

/** What {@link Load} sends, and to where. */
export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  /** One path, or the path of each request by its number from 0. */
  readonly path: string | ((index: number) => string);
  readonly body: string;
  /** The most messages that may be accepted and not yet confirmed by {@link Load.confirm}. Default: no limit. */
  readonly maxUnconfirmed?: number;
}

/** What a run has shown. */
export interface LoadRun {
  readonly requests: number;
  readonly seconds: number;
}

/**
 * Sends POSTs again and again over keep-alive connections, one request at a time on each. Bare sockets: a client
 * library would take more of the machine than the server. Every answer must be a 204 without a body.
 */
export class Load {
  readonly #requestOf: (index: number) => Buffer;
  readonly #sockets: readonly Socket[];
  readonly #parked: Socket[] = [];
  readonly #maxUnconfirmed: number;
  #unconfirmed = 0;
  #busy = 0;
  #accepted = 0;
  #sent = 0;
  #deadline = 0;
  #end = 0;
  #failure: Error | undefined;
  #finished: { resolve: () => void; reject: (error: Error) => void } | undefined;

  private constructor(options: LoadOptions, sockets: readonly Socket[]) {
    const { path } = options;
    const same = typeof path === 'string' ? requestBytes(options, path) : undefined;
    this.#requestOf = (index) => same ?? requestBytes(options, typeof path === 'string' ? path : path(index));
    this.#sockets = sockets;
    this.#maxUnconfirmed = options.maxUnconfirmed ?? Number.POSITIVE_INFINITY;
    for (const socket of sockets) this.#listen(socket);
  }

  /** Connects. */
  static async open(options: LoadOptions): Promise<Load> {
    const sockets = await Promise.all(Array.from({ length: options.connections }, () => open(options.port)));
    return new Load(options, sockets);
  }

  /** Sends for so long, waits for the last answers, and tells how many requests were accepted. */
  run(seconds: number): Promise<LoadRun> {
    return this.#run(performance.now() + seconds * 1_000, Number.POSITIVE_INFINITY);
  }

  /** Sends so many requests and waits for their answers. */
  send(count: number): Promise<LoadRun> {
    return this.#run(Number.POSITIVE_INFINITY, this.#sent + count);
  }

  async #run(deadline: number, end: number): Promise<LoadRun> {
    const startedAt = performance.now();
    this.#accepted = 0;
    this.#deadline = deadline;
    this.#end = end;
    const finished = new Promise<void>((resolve, reject) => {
      this.#finished = { resolve, reject };
    });
    if (this.#failure !== undefined) throw this.#failure;
    for (const socket of this.#sockets) this.#next(socket);
    await finished;
    return { requests: this.#accepted, seconds: (performance.now() - startedAt) / 1_000 };
  }

  /** One accepted message has arrived where it was to go. */
  confirm(): void {
    this.#unconfirmed--;
    const socket = this.#parked.pop();
    if (socket !== undefined) this.#next(socket);
    else if (this.#unconfirmed === 0) this.#finishWhenDone();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #listen(socket: Socket): void {
    let head: Buffer | undefined;
    socket.on('data', (chunk: Buffer) => {
      head = head === undefined ? chunk : Buffer.concat([head, chunk]);
      if (head.length < 12 || !head.subarray(-4).equals(END_OF_HEAD)) return;
      if (head.toString('latin1', 9, 12) !== '204') return this.#fail(new Error(`not a 204: ${head.toString()}`));
      head = undefined;
      this.#accepted++;
      this.#busy--;
      this.#next(socket);
    });
    socket.on('close', () => this.#fail(new Error('the server closed a connection')));
    socket.on('error', (error) => this.#fail(error));
  }

  #next(socket: Socket): void {
    if (this.#sent >= this.#end || performance.now() >= this.#deadline) return this.#finishWhenDone();
    if (this.#unconfirmed >= this.#maxUnconfirmed) this.#parked.push(socket);
    else this.#send(socket);
  }

  #send(socket: Socket): void {
    this.#busy++;
    if (this.#maxUnconfirmed !== Number.POSITIVE_INFINITY) this.#unconfirmed++;
    socket.write(this.#requestOf(this.#sent++));
  }

  #finishWhenDone(): void {
    if (this.#busy === 0 && this.#unconfirmed === 0) this.#finished?.resolve();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#finished?.reject(error);
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

function requestBytes({ port, body }: LoadOptions, path: string): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}
