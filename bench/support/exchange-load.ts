import { connect, type Socket } from 'node:net';

/** A request. */
export interface ExchangeRequest {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  /** Default: none. */
  readonly body?: Buffer | string;
  /** The media type of the body. Default: `application/json`. */
  readonly contentType?: string;
}

/** What {@link ExchangeLoad} sends, and to where. */
export interface ExchangeOptions {
  readonly port: number;
  readonly connections: number;
  /** The requests of each connection by its number from 0, which it sends one after the other, again and again. */
  readonly requestsOf: (connection: number) => readonly Buffer[];
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

/** The bytes of a request. */
export function requestBytes({ port, method, path, body, contentType = 'application/json' }: ExchangeRequest): Buffer {
  const head = [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, 'Accept: */*', 'User-Agent: bench'];
  const bytes = Buffer.from(body ?? '');
  if (body !== undefined) head.push(`Content-Type: ${contentType}`, `Content-Length: ${bytes.length}`);
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}${END_OF_HEAD}`), bytes]);
}

/**
 * Sends requests again and again over keep-alive connections, one at a time on each, and reads answers of announced
 * length, in chunks, or without content. Bare sockets, as in `load.ts`. Every answer must be a 200 or a 204.
 */
export class ExchangeLoad {
  readonly #connections: readonly Connection[];

  private constructor(connections: readonly Connection[]) {
    this.#connections = connections;
  }

  static async open({ port, connections, requestsOf }: ExchangeOptions): Promise<ExchangeLoad> {
    const opening = Array.from({ length: connections }, (_, index) => Connection.open(port, requestsOf(index)));
    return new ExchangeLoad(await Promise.all(opening));
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
    const latencies = await Promise.all(this.#connections.map((one) => one.repeat(goesOn)));
    const all = Float64Array.from(latencies.flat()).sort();
    return { requests: all.length, seconds: (performance.now() - startedAt) / 1_000, latenciesMs: all };
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

class Connection {
  readonly #socket: Socket;
  readonly #requests: readonly Buffer[];
  #sent = 0;
  #head = '';
  /** The last bytes of an answer in chunks. */
  #tail: string | undefined;
  #missing = 0;
  #sentAt = 0;
  #answered: (tookMs: number) => void = () => undefined;
  #failed: (error: Error) => void = () => undefined;

  constructor(socket: Socket, requests: readonly Buffer[]) {
    this.#socket = socket;
    this.#requests = requests;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#failed(error));
    socket.on('close', () => this.#failed(new Error('the server closed a connection')));
  }

  static open(port: number, requests: readonly Buffer[]): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('connect', () => resolve(new Connection(socket, requests)));
      socket.once('error', reject);
    });
  }

  /** Sends as long as it may go on; how long each request took. */
  repeat(goesOn: () => boolean): Promise<number[]> {
    const latencies: number[] = [];
    return new Promise((resolve, reject) => {
      const send = (): void => {
        if (!goesOn()) return resolve(latencies);
        this.#sentAt = performance.now();
        this.#socket.write(this.#requests[this.#sent++ % this.#requests.length] ?? '');
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
    if (this.#tail !== undefined) return this.#takeChunked(chunk.toString('latin1'));
    this.#head += chunk.toString('latin1');
    const end = this.#head.indexOf(END_OF_HEAD);
    if (end === -1) return;
    const [head, rest] = [this.#head.slice(0, end), this.#head.slice(end + END_OF_HEAD.length)];
    this.#head = '';
    const status = head.slice(9, 12);
    if (status === '204') return this.#done();
    const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
    const isChunked = /\r\ntransfer-encoding: *chunked/i.test(head);
    if (status !== '200' || (length === undefined && !isChunked))
      return this.#failed(new Error(`unexpected answer: ${head}\n${rest.slice(0, 300)}`));
    if (isChunked) return this.#takeChunked(rest);
    this.#missing = Number(length);
    this.#count(rest.length);
  }

  /** What is sent has no end of chunks in it. */
  #takeChunked(text: string): void {
    this.#tail = ((this.#tail ?? '') + text.slice(-LAST_CHUNK.length)).slice(-LAST_CHUNK.length);
    if (this.#tail !== LAST_CHUNK) return;
    this.#tail = undefined;
    this.#done();
  }

  #count(bytes: number): void {
    this.#missing -= bytes;
    if (this.#missing === 0) this.#done();
  }

  #done(): void {
    this.#answered(performance.now() - this.#sentAt);
  }
}
