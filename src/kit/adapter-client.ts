import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { HeaderMap } from '../http/message.ts';

/** How long a figure must be unchanged to count as stalled. */
const STILL_MS = 100;
const POLL_MS = 10;

export interface Sent {
  readonly method?: string;
  readonly headers?: HeaderMap;
  readonly body?: string | Uint8Array;
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Sends a request on its own connection; rejects if the response breaks off. */
export async function send(url: string, { method = 'GET', headers = {}, body = '' }: Sent = {}): Promise<Received> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    // Node's type requires mutable arrays but does not change them.
    const outgoing = request(url, { method, agent: false, headers: headers as Record<string, string | string[]> });
    outgoing.once('response', resolve).once('error', reject).end(body);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
}

/** A client that sends and receives raw bytes. */
export class RawClient implements Disposable {
  readonly socket: Socket;
  #received = '';
  #receivedBytes = 0;
  #closed = false;
  readonly #watchers = new Set<() => void>();

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname);
    this.socket.on('data', (chunk) => this.#take(chunk));
    // A reset ends the connection like anything else.
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.#closed = true;
      this.#tell();
    });
  }

  #take(chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    // Enough for the heads of responses; long bodies are only counted.
    if (this.#received.length < 65_536) this.#received += chunk.toString('latin1');
    this.#tell();
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher();
  }

  /** The bytes received so far, as latin1. */
  get received(): string {
    return this.#received;
  }

  /** The number of bytes received so far. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Sends lines, joined with CRLF. */
  send(...lines: string[]): void {
    this.socket.write(lines.join('\r\n'), 'latin1');
  }

  /** Resolves once the condition is true; checked with every chunk and on close. */
  until(isTrue: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (isTrue()) resolve();
        else if (this.#closed) reject(new Error(`the connection closed too early, after: ${this.#received}`));
        else return;
        this.#watchers.delete(look);
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Everything received until the connection is closed. */
  async all(): Promise<string> {
    await this.until(() => this.#closed);
    return this.#received;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** Resolves when a figure has stopped growing: its producer is waiting. */
export async function stalled(figure: () => number): Promise<number> {
  let last = figure();
  for (let stillMs = 0; stillMs < STILL_MS; stillMs += POLL_MS) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (figure() !== last) stillMs = 0;
    last = figure();
  }
  return last;
}

/** The progress of {@link flood}. */
export interface Flood {
  /** The number of bytes that the system has taken. */
  readonly sent: () => number;
  /** Resolves when all are taken or the connection is closed. */
  readonly done: Promise<void>;
}

/** Writes chunks as fast as the other side takes them, until all are sent or the connection is closed. */
export function flood(socket: Socket, chunk: Uint8Array, times: number, onChunk?: () => void): Flood {
  let left = times;
  let taken = 0;
  const done = new Promise<void>((resolve) => {
    const next = (error?: Error | null): void => {
      if (error || left === 0 || socket.destroyed) return resolve();
      left--;
      socket.write(chunk, (failure) => {
        taken += chunk.length;
        onChunk?.();
        next(failure);
      });
    };
    next();
  });
  return { sent: () => taken, done };
}
