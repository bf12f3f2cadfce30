import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

/** A request that the application got. */
export class Received {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;

  constructor({ method = '', url = '', headers }: IncomingMessage, bytes: Buffer) {
    this.method = method;
    this.path = url;
    this.headers = headers;
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.toString();
  }

  /** The event of a single delivery, or the whole of a bulk one. */
  get json(): Record<string, unknown> {
    return JSON.parse(this.text) as Record<string, unknown>;
  }

  /** `data` of a single delivery. */
  get data(): unknown {
    return this.json['data'];
  }

  /** The entries of a bulk delivery. */
  get entries(): readonly BulkEntry[] {
    return this.json['entries'] as readonly BulkEntry[];
  }
}

export interface BulkEntry {
  readonly entryId: string;
  readonly event: Record<string, unknown> & string;
  readonly contentType: string;
  readonly metadata: Record<string, string>;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
}

/** Answers a delivery; `nth` is 1 for the first to its path. */
export type Answering = (received: Received, nth: number) => Reply | undefined | Promise<Reply | undefined>;

/** An application that never answers. */
export const NEVER: Promise<undefined> = new Promise(() => undefined);

/** Where an application is asked for its actors. */
const CONFIGURATION = /^\/(?:sidecar|dapr)\/config$/;

/** An application that keeps what it gets. */
export class RecordingApp {
  readonly discoveries: Received[] = [];
  readonly deliveries: Received[] = [];
  /** Health checks. */
  readonly probes: Received[] = [];
  /** What it answers to them. */
  health: Reply | Promise<undefined> = {};
  /** Answers to discovery, one after the other; the last one stays. */
  discovery: readonly Reply[];
  answer: Answering;

  constructor(discovery: readonly Reply[], answer: Answering) {
    this.discovery = discovery;
    this.answer = answer;
  }

  /** What was delivered to one path. */
  at(path: string): readonly Received[] {
    return this.deliveries.filter((received) => received.path === path);
  }

  readonly listener = (req: IncomingMessage, res: ServerResponse): void => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => void this.#reply(new Received(req, Buffer.concat(parts)), res));
  };

  async #reply(received: Received, res: ServerResponse): Promise<void> {
    if (received.method === 'GET' && received.path === '/healthz') return this.#answerProbe(received, res);
    // It has no actors.
    if (received.method === 'GET' && CONFIGURATION.test(received.path)) return write({ status: 404 }, res);
    const isDiscovery = received.method === 'GET';
    const list = isDiscovery ? this.discoveries : this.deliveries;
    list.push(received);
    const nth = isDiscovery ? list.length : this.at(received.path).length;
    const reply = isDiscovery ? (this.discovery[nth - 1] ?? this.discovery.at(-1)) : await this.answer(received, nth);
    write(reply ?? {}, res);
  }

  async #answerProbe(received: Received, res: ServerResponse): Promise<void> {
    this.probes.push(received);
    write((await this.health) ?? {}, res);
  }
}

function write({ status = 200, headers = {}, body = '' }: Reply, res: ServerResponse): void {
  res.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
}
