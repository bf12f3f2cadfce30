import { connect, type Socket } from 'node:net';
import { withoutBrackets } from '../util/host.ts';
import { setImmediate, setTimeout } from '../util/timers.ts';
import { DirectExchange } from './direct-exchange.ts';
import { HEAD_LIMIT_BYTES } from './head-limit.ts';
import { cancelTokenOf, type Handler } from './message.ts';
import { type ClientOptions, type HttpClient, httpClient } from './pool-client.ts';
import { requestBytes } from './request-bytes.ts';
import { ResponseHeads, ResponseParser } from './response-parser.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** How long an idle connection is kept, if the server does not say that it closes earlier. */
const IDLE_MS = 30_000;
/** The server may close this much earlier than it says. */
const IDLE_MARGIN_MS = 2_000;
/** A connection that was idle for longer is looked at once more before it is used: its end may not be read yet. */
const FRESH_MS = 5;
const TCP_KEEP_ALIVE_MS = 60_000;

/**
 * A client for one origin without TLS. It sends requests whose body is bytes over connections of its own: that takes half
 * the CPU time of undici, and a third in a new process, as there is less code and no WebAssembly to compile. Requests
 * with anything unusual go through undici.
 */
export function directClient(host: string, port: number, headLimitBytes: number = HEAD_LIMIT_BYTES): HttpClient {
  return new DirectClient(host, port, headLimitBytes);
}

const HTTP_PORT = 80;

/** A client for another sidecar: a direct one, unless it is reached over TLS. */
export function sidecarClient(origin: string, options: ClientOptions): HttpClient {
  const { protocol, hostname, port } = new URL(origin);
  if (protocol !== 'http:') return httpClient(origin, options);
  return directClient(withoutBrackets(hostname), Number(port || HTTP_PORT), options.headLimitBytes);
}

class DirectClient implements HttpClient {
  readonly #address: { readonly host: string; readonly port: number };
  readonly #authority: string;
  readonly #other: HttpClient;
  readonly #headLimitBytes: number;
  readonly #heads = new ResponseHeads();
  readonly #open = new Set<DirectConnection>();
  readonly #idle: DirectConnection[] = [];
  #sweep: NodeJS.Timeout | undefined;
  /** Whether it has had a request. */
  #isUsed = false;
  #isClosed = false;
  /** Set once it is retired: called when a connection has closed. */
  #onRetired: (() => void) | undefined;

  constructor(host: string, port: number, headLimitBytes: number) {
    this.#headLimitBytes = headLimitBytes;
    this.#address = { host, port };
    this.#authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    this.#other = httpClient(`http://${this.#authority}`, { headLimitBytes });
  }

  readonly handle: Handler = (request) => {
    if (this.#onRetired !== undefined) return Promise.reject(closedClient());
    this.#isUsed = true;
    const bytes = requestBytes(request, this.#authority);
    if (bytes === undefined) return this.#other.handle(request);
    return new Promise((resolve, reject) => {
      const cancelToken = cancelTokenOf(request);
      if (cancelToken.aborted) throw cancelToken.reason;
      if (this.#isClosed) throw closedClient();
      this.#send(new DirectExchange({ bytes, isHead: request.method === 'HEAD', cancelToken, resolve, reject }));
    });
  };

  #send(exchange: DirectExchange): void {
    const now = performance.now();
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (!connection.isUsable(now)) connection.destroy();
      else if (now - connection.idleSince < FRESH_MS) return connection.send(exchange);
      else return this.#sendInNextTurn(connection, exchange);
    }
    this.#connect().send(exchange);
  }

  /** By then the end of the connection has been read, if it has ended. */
  #sendInNextTurn(connection: DirectConnection, exchange: DirectExchange): void {
    setImmediate(() => {
      if (exchange.isOver) return this.#release(connection);
      if (this.#isClosed) return exchange.fail(closedClient());
      if (connection.isUsable(performance.now())) return connection.send(exchange);
      connection.destroy();
      this.#send(exchange);
    });
  }

  #connect(): DirectConnection {
    const connection = new DirectConnection(this.#address, {
      heads: this.#heads,
      headLimitBytes: this.#headLimitBytes,
      onIdle: () => this.#release(connection),
      onClose: () => this.#forget(connection),
    });
    this.#open.add(connection);
    return connection;
  }

  #release(connection: DirectConnection): void {
    const isOver = this.#isClosed || this.#onRetired !== undefined;
    if (isOver || !this.#open.has(connection)) return connection.destroy();
    this.#idle.push(connection);
    this.#sweep ??= setTimeout(() => this.#endIdle(), IDLE_MARGIN_MS / 2).unref();
  }

  #forget(connection: DirectConnection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    if (this.#open.size === 0) this.#onRetired?.();
  }

  #endIdle(): void {
    this.#sweep = undefined;
    const now = performance.now();
    for (const connection of [...this.#idle]) if (!connection.isUsable(now)) connection.destroy();
    if (this.#idle.length > 0) this.#sweep = setTimeout(() => this.#endIdle(), IDLE_MARGIN_MS / 2).unref();
  }

  async retire(): Promise<void> {
    if (!this.#isUsed) return;
    await new Promise<void>((resolve) => {
      this.#onRetired = resolve;
      for (const connection of [...this.#idle]) connection.destroy();
      if (this.#open.size === 0) resolve();
    });
    await this.#other.retire();
  }

  /** Aborts requests in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#sweep);
    for (const connection of [...this.#open]) connection.destroy(closedClient());
    await this.#other.close();
  }
}

interface DirectConnectionDeps {
  readonly heads: ResponseHeads;
  readonly headLimitBytes: number;
  /** The response has been read: the next request may be sent. */
  readonly onIdle: () => void;
  readonly onClose: () => void;
}

/** A connection: one request at a time. */
class DirectConnection {
  readonly #socket: Socket;
  readonly #parser: ResponseParser;
  readonly #deps: DirectConnectionDeps;
  #exchange: DirectExchange | undefined;
  #error: Error | undefined;
  #idleMs = IDLE_MS;
  idleSince = 0;

  constructor(address: { readonly host: string; readonly port: number }, deps: DirectConnectionDeps) {
    this.#deps = deps;
    this.#parser = new ResponseParser(deps.heads, deps.headLimitBytes);
    const tcp = { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
    this.#socket = connect({ ...address, ...tcp });
    const timer = setTimeout(() => this.destroy(connectTimeout(address)), CONNECT_TIMEOUT_MS);
    this.#socket.once('connect', () => clearTimeout(timer));
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('end', () => this.#readEnd());
    this.#socket.on('error', (error) => {
      this.#error ??= error;
    });
    this.#socket.once('close', () => {
      clearTimeout(timer);
      deps.onClose();
      this.#exchange?.fail(this.#error ?? closedEarly());
    });
  }

  isUsable(now: number): boolean {
    return !this.#socket.destroyed && now - this.idleSince < this.#idleMs;
  }

  send(exchange: DirectExchange): void {
    this.#exchange = exchange;
    const [head, body] = exchange.bytes;
    exchange.start(this.#socket, (error) => this.destroy(error));
    this.#parser.expect(exchange, exchange.isHead);
    this.#socket.ref();
    if (body === undefined) return void this.#socket.write(head);
    this.#socket.cork();
    this.#socket.write(head);
    this.#socket.write(body);
    this.#socket.uncork();
  }

  destroy(error?: Error): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    try {
      this.#parser.read(chunk);
    } catch (error) {
      return this.destroy(error as Error);
    }
    if (this.#exchange !== undefined && this.#parser.isDone) this.#complete(this.#exchange);
  }

  #complete({ head }: DirectExchange): void {
    this.#exchange = undefined;
    this.idleSince = performance.now();
    this.#idleMs = head?.idleMs === undefined ? IDLE_MS : Math.min(IDLE_MS, head.idleMs - IDLE_MARGIN_MS);
    // A request that is still being written was not read by the server.
    const mayStay = head?.keepsOpen === true && this.#idleMs > 0 && this.#socket.writableLength === 0;
    if (!mayStay) return this.destroy();
    // A reader that is behind has paused it.
    this.#socket.resume();
    this.#socket.unref();
    this.#deps.onIdle();
  }

  #readEnd(): void {
    try {
      this.#parser.end();
      this.#exchange = undefined;
    } catch (error) {
      this.#error ??= this.#exchange?.head === undefined ? closedEarly() : (error as Error);
    }
    this.#socket.destroy();
  }
}

function connectTimeout({ host, port }: { readonly host: string; readonly port: number }): Error {
  const error = new Error(`${host}:${port} took no connection within ${CONNECT_TIMEOUT_MS} ms`);
  return Object.assign(error, { code: 'ETIMEDOUT', syscall: 'connect' });
}

function closedClient(): Error {
  return new Error('the client is closed');
}

function closedEarly(): Error {
  return Object.assign(new Error('the connection was closed before the response'), { code: 'ECONNRESET' });
}
