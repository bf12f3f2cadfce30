import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WireName } from '../../../src/index.ts';

/** The path to which the messages go that must arrive. */
const SOUND_PATH = '/sound';

const RULES = [
  { match: 'event.type == "order.placed"', path: '/placed' },
  { match: 'event.data.amount > 100', path: '/large' },
  { match: 'event.data.name.matches("^a+b$") || has(event.subject)', path: '/named' },
];
const QUICK = { maxRetries: 1, initialDelayMs: 1, maxDelayMs: 2 };

/** The subscriptions of the application: each kind of delivery has a topic. */
const SUBSCRIPTIONS = [
  {
    pubsubname: 'pubsub',
    topic: 'orders',
    routes: { rules: RULES, default: '/orders' },
    deadLetterTopic: 'dead',
    retry: QUICK,
  },
  {
    ...{ pubsubname: 'pubsub', topic: 'bulk', route: '/bulk', retry: QUICK, deadLetterTopic: 'dead' },
    bulkSubscribe: { enabled: true, maxMessagesCount: 10, maxAwaitDurationMs: 5 },
  },
  { pubsubname: 'pubsub', topic: 'raw', route: '/raw', metadata: { rawPayload: 'true' }, retry: QUICK },
  { pubsubname: 'pubsub', topic: 'ordered', route: '/ordered', concurrency: 1, retry: QUICK },
  { pubsubname: 'pubsub', topic: 'dead', route: '/dead', retry: QUICK },
  { pubsubname: 'pubsub', topic: 'sound', route: SOUND_PATH },
];

/** What is not 200 without a body, of a hundred answers. */
const FAULTS: Readonly<Record<number, (res: ServerResponse) => void>> = {
  0: (res) => res.writeHead(500).end('no'),
  1: (res) => res.writeHead(404).end(),
  2: (res) => res.end('{"status":"RETRY"}'),
  3: (res) => res.end('{"status":"DROP"}'),
  4: (res) => res.end('{"status":7,"statuses":{}}'),
  5: (res) => res.end('\u0000{'),
  6: (res) => res.destroy(),
  7: (res) => res.writeHead(204).end(),
  8: (res) => res.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
  9: (res) => void setTimeout(() => res.end('late'), 20),
  10: (res) => res.writeHead(200, { 'content-type': 'application/json' }).end('[{"statuses":[]}]'),
  11: (res) => res.writeHead(503, { 'retry-after': '0' }).end(),
};

/** An application that fails now and then, and looks at everything that comes. */
export class FuzzedApp {
  readonly #wire: WireName;
  /** What should not have come. */
  readonly problems: string[] = [];
  readonly #sound = new Set<string>();
  received = 0;

  constructor(wire: WireName) {
    this.#wire = wire;
  }

  /** Whether a message that must arrive has. */
  hasSound(id: string): boolean {
    return this.#sound.has(id);
  }

  readonly listener = (req: IncomingMessage, res: ServerResponse): void => {
    this.received++;
    const parts: Buffer[] = [];
    req.on('error', () => undefined);
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => this.#answer(req, res, Buffer.concat(parts)));
  };

  #answer(req: IncomingMessage, res: ServerResponse, body: Buffer): void {
    const { url = '', headers } = req;
    if (req.method === 'GET' && url === `/${this.#wire}/subscribe`) return void res.end(JSON.stringify(SUBSCRIPTIONS));
    this.#look(req, body);
    res.setHeader('x-from-app', '1');
    if (url === SOUND_PATH) {
      this.#sound.add((JSON.parse(body.toString()) as { data: string }).data);
      return void res.end();
    }
    if (url === '/slow') return void setTimeout(() => res.end('slow'), 15);
    const digest = createHash('sha1').update(url).update(String(headers['content-type'])).update(body).digest();
    const fault = FAULTS[digest.readUInt16BE() % 100];
    if (fault === undefined) res.end(url === '/echo' ? body : '');
    else fault(res);
  }

  #look({ url = '', headers, method }: IncomingMessage, body: Buffer): void {
    if (headers['x-smuggled'] !== undefined) this.problems.push(`x-smuggled came to ${method} ${url}`);
    const caller = headers[`${this.#wire}-caller-app-id`];
    if (caller !== undefined && caller !== 'shop')
      this.problems.push(`caller ${String(caller)} came to ${method} ${url}`);
    const isEvent = headers['content-type'] === 'application/cloudevents+json' && headers['pubsubname'] !== undefined;
    if (isEvent && url !== '/raw') this.#lookAtEvent(url, body);
  }

  /** What every delivery of a single event promises; raw messages may be anything. */
  #lookAtEvent(url: string, body: Buffer): void {
    try {
      const event = JSON.parse(body.toString()) as Record<string, unknown>;
      if (typeof event !== 'object' || event === null) throw new Error('it is no object');
    } catch (error) {
      this.problems.push(`the event at ${url} is not JSON: ${String(error)} in ${body.toString().slice(0, 300)}`);
    }
  }
}
