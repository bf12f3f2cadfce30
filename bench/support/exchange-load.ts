import { connect, type Socket } from 'node:net';

/** What {@link ExchangeLoad} sends, and to where. */
export interface ExchangeOptions {
  readonly port: number;
  readonly connections: number;
  readonly method: string;
  readonly path: string;
  readonly bodyBytes: number;
}

/** What a run has shown. */
export interface ExchangeRun {
  readonly requests: number;
  readonly seconds: number;
  /** How long each request took, in milliseconds, in rising order. */
  readonly latenciesMs: Float64Array;
}

const END_OF_HEAD = '\r\n\r\n';
const LAST_CHUNK = '\r\n0\r\n\r\n';

/**
 * Sends the same request again and again over keep-alive connections, one at a time on each, and reads answers of
 * announced length, or in chunks. Bare sockets, as in `load.ts`. Every answer must be a 200.
 */
export class ExchangeLoad {
  readonly #request: Buffer;
  readonly #connections: readonly Connection[];

  private constructor(request: Buffer, connections: readonly Connection[]) {
    this.#request = request;
    this.#connections = connections;
  }

  static async open({ port, connections, method, path, bodyBytes }: ExchangeOptions): Promise<ExchangeLoad> {
    const head = [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, 'Accept: */*', 'User-Agent: bench'];
    if (bodyBytes > 0) head.push('Content-Type: application/octet-stream', `Content-Length: ${bodyBytes}`);
    const request = Buffer.concat([Buffer.from(`${head.join('\r\n')}${END_OF_HEAD}`), Buffer.alloc(bodyBytes, 'x')]);
    const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(port)));
    return new ExchangeLoad(request, opened);
  }

  /** Sends for so long. */
  run(seconds: number): Promise<ExchangeRun> {
    const deadline = performance.now() + seconds * 1_000;
    return this.#while(() => performance.now() < deadline);
  }

  /** Sends so many requests. */
  send(count: number): Promise<ExchangeRun> {
    let sent = 0;
    return this.#while(() => sent++ < count);
  }

  async #while(goesOn: () => boolean): Promise<ExchangeRun> {
    const startedAt = performance.now();
    const latencies = await Promise.all(this.#connections.map((one) => one.repeat(this.#request, goesOn)));
    const all = Float64Array.from(latencies.flat()).sort();
    return { requests: all.length, seconds: (performance.now() - startedAt) / 1_000, latenciesMs: all };
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

class Connection {
  readonly #socket: Socket;
  #head = '';
  #missing = 0;
  #sentAt = 0;
  #answered: (tookMs: number) => void = () => undefined;
  #failed: (error: Error) => void = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#failed(error));
    socket.on('close', () => this.#failed(new Error('the server closed a connection')));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('connect', () => resolve(new Connection(socket)));
      socket.once('error', reject);
    });
  }

  /** Sends as long as it may go on; how long each request took. */
  repeat(request: Buffer, goesOn: () => boolean): Promise<number[]> {
    const latencies: number[] = [];
    return new Promise((resolve, reject) => {
      const send = (): void => {
        if (!goesOn()) return resolve(latencies);
        this.#sentAt = performance.now();
        this.#socket.write(request);
      };
      this.#failed = reject;
      this.#answered = (tookMs) => {
        latencies.push(tookMs);
        send();
      };
      send();
    });
  }

  close(): void {
    this.#failed = () => undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#missing > 0) return this.#count(chunk.length);
    this.#head += chunk.toString('latin1');
    const end = this.#head.indexOf(END_OF_HEAD);
    if (end === -1) return;
    if (/\r\ntransfer-encoding: *chunked/i.test(this.#head)) return this.#takeChunked();
    const [, length] = /\r\ncontent-length: *(\d+)/i.exec(this.#head) ?? [];
    if (length === undefined || this.#head.slice(9, 12) !== '200')
      return this.#failed(new Error(`unexpected answer: ${this.#head.slice(0, 300)}`));
    this.#missing = Number(length);
    const got = this.#head.length - end - END_OF_HEAD.length;
    this.#head = '';
    this.#count(got);
  }

  /** All of it is kept until its last chunk: such answers are short. */
  #takeChunked(): void {
    if (this.#head.slice(9, 12) !== '200') return this.#failed(new Error(`unexpected answer: ${this.#head}`));
    if (!this.#head.endsWith(LAST_CHUNK)) return;
    this.#head = '';
    this.#answered(performance.now() - this.#sentAt);
  }

  #count(bytes: number): void {
    this.#missing -= bytes;
    if (this.#missing === 0) this.#answered(performance.now() - this.#sentAt);
  }
}
