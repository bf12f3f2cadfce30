import { createServer, request as httpRequest, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';

/** A server on a free port of this machine. */
export interface Listening extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Answers requests with this from now on; for a server that was opened without a listener. */
  use(listener: RequestListener): void;
}

export async function listen(listener?: RequestListener, port = 0): Promise<Listening> {
  const server = createServer();
  const use = (handler: RequestListener): void => void server.on('request', handler);
  if (listener !== undefined) use(listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { port: address.port, url: `http://127.0.0.1:${address.port}`, use, [Symbol.asyncDispose]: close };
}

/** As if the connections came from that address. */
export function comingFrom(address: string, listener: RequestListener): RequestListener {
  return (req, res) => {
    Object.defineProperty(req.socket, 'remoteAddress', { value: address, configurable: true });
    listener(req, res);
  };
}

/** Test files that run at the same time take from different ranges. */
const PORTS = 1_500;
const { VITEST_POOL_ID: pool = '0' } = process.env;
const FIRST_PORT = 20_000 + (Number(pool) % 8) * PORTS;
let nextPort = Math.floor(Math.random() * PORTS);

/**
 * A port that nobody listens on: below those that the system gives to outgoing connections, of which there are always
 * some that begin between this and the use of the port.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + (nextPort++ % PORTS);
    const server = createNetServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface Sent {
  readonly headers?: RequestHeaders;
  /** A string or bytes are sent as they are, `Chunks` without a length, anything else as JSON. */
  readonly body?: unknown;
}

/** An answer over HTTP. */
export class Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;

  constructor(status: number, headers: IncomingHttpHeaders, bytes: Buffer) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.toString();
  }

  /** The body of an error, or of anything else that is a JSON object. */
  get json(): Record<string, unknown> {
    return JSON.parse(this.text) as Record<string, unknown>;
  }

  /** Status and error code, which tables of the API document give. */
  get error(): readonly [status: number, errorCode: unknown] {
    return [this.status, this.text === '' ? undefined : this.json['errorCode']];
  }
}

/** More than any server under test reads. */
const MAX_HEAD_BYTES = 1024 * 1024;

/** One request over a real socket; the path goes out exactly as given. */
export function send(origin: string, method: string, path: string, sent: Sent = {}): Promise<Answer> {
  const { bytes, contentType } = encode(sent.body);
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(sent.headers ?? {}))
    headers[name] = typeof value === 'string' ? value : [...value];
  if (contentType !== undefined && !Object.keys(headers).some((name) => name.toLowerCase() === 'content-type'))
    headers['content-type'] = contentType;
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const req = httpRequest({ hostname, port, method, path, headers, maxHeaderSize: MAX_HEAD_BYTES }, (res) => {
      const parts: Buffer[] = [];
      res.on('data', (part: Buffer) => parts.push(part));
      res.on('end', () => resolve(new Answer(res.statusCode ?? 0, res.headers, Buffer.concat(parts))));
      res.on('error', reject);
    });
    req.on('error', reject);
    if (!Array.isArray(bytes)) return void req.end(bytes);
    req.setHeader('transfer-encoding', 'chunked');
    for (const chunk of bytes) req.write(chunk);
    req.end();
  });
}

function encode(body: unknown): { bytes: Uint8Array | readonly Uint8Array[]; contentType?: string } {
  if (body === undefined) return { bytes: Buffer.alloc(0) };
  if (typeof body === 'string') return { bytes: Buffer.from(body) };
  if (body instanceof Uint8Array) return { bytes: body };
  if (body instanceof Chunks) return { bytes: body.list };
  return { bytes: Buffer.from(JSON.stringify(body)), contentType: 'application/json' };
}

/** A body that is sent without its length. */
export class Chunks {
  readonly list: readonly Uint8Array[];

  constructor(...list: readonly Uint8Array[]) {
    this.list = list;
  }
}
