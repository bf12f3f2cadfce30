import { HEAD_LIMIT_BYTES } from '../../../http/head-limit.ts';
import { cancelTokenOf, type Handler, PlainRequest, requestTarget } from '../../../http/message.ts';
import { type HttpClient, httpClient } from '../../../http/pool-client.ts';
import { type Backoff, backoffDelayMs } from '../../../util/backoff.ts';
import type { Clock } from '../../../util/clock.ts';
import { LruCache } from '../../../util/lru.ts';
import type { BaseUrl } from '../endpoints.ts';
import type { Instance } from '../resolver.ts';

/** How long an instance is skipped after a failed connection. */
const LEFT_OUT: Backoff = { initialDelayMs: 5_000, maxDelayMs: 60_000, factor: 2, jitter: 0.2 };
/** Max cached instances with their connections. */
const MAX_KEPT = 1_000;

/** An instance with its call statistics. */
class KnownInstance implements Instance {
  readonly id: string;
  readonly handle: Handler;
  readonly client: HttpClient | undefined;
  /** Calls without a response yet. */
  pending = 0;
  failures = 0;
  leftOutUntil = Number.NEGATIVE_INFINITY;

  constructor(id: string, target: Handler, client?: HttpClient) {
    this.id = id;
    this.client = client;
    this.handle = async (request) => {
      this.pending++;
      try {
        const response = await target(request);
        this.failures = 0;
        this.leftOutUntil = Number.NEGATIVE_INFINITY;
        return response;
      } finally {
        this.pending--;
      }
    };
  }
}

/** The recently used instances: their connections and the order in which to try them. */
export class Instances {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #headLimitBytes: number;
  readonly #remote = new LruCache<KnownInstance>(MAX_KEPT, retire);
  #local = new WeakMap<Handler, KnownInstance>();

  constructor(clock: Clock, random: () => number, headLimitBytes: number = HEAD_LIMIT_BYTES) {
    this.#headLimitBytes = headLimitBytes;
    this.#clock = clock;
    this.#random = random;
  }

  /** The instance at a URL. */
  at({ origin, base }: BaseUrl): Instance {
    const id = origin + base;
    return this.#remote.getOrMake(id, () => connect(id, { origin, base }, this.#headLimitBytes));
  }

  /** An instance in this process. */
  inProcess(id: string, peer: Handler): Instance {
    const known = this.#local.get(peer);
    if (known?.id === id) return known;
    const instance = new KnownInstance(id, peer);
    this.#local.set(peer, instance);
    return instance;
  }

  /** Of two random instances, the one with fewer pending calls comes first; skipped ones come last. */
  inOrder(instances: readonly Instance[]): readonly Instance[] {
    if (instances.length < 2) return instances;
    const now = this.#clock.now();
    const known = instances.filter((instance) => instance instanceof KnownInstance);
    const [usable, leftOut] = [
      known.filter(({ leftOutUntil }) => leftOutUntil <= now),
      known.filter(({ leftOutUntil }) => leftOutUntil > now),
    ];
    const at = Math.floor(this.#random() * usable.length);
    const turned = [...usable.slice(at), ...usable.slice(0, at)];
    const [first, second] = turned;
    if (first !== undefined && second !== undefined && second.pending < first.pending)
      turned.splice(0, 2, second, first);
    leftOut.sort((a, b) => a.leftOutUntil - b.leftOutUntil);
    return [...turned, ...leftOut];
  }

  /** Records a failed connection. */
  failed(instance: Instance): void {
    if (!(instance instanceof KnownInstance)) return;
    instance.failures++;
    instance.leftOutUntil = this.#clock.now() + backoffDelayMs(LEFT_OUT, instance.failures, this.#random);
  }

  async close(): Promise<void> {
    const clients = this.#remote.take().map(({ client }) => client);
    this.#local = new WeakMap();
    await Promise.all(clients.map((client) => client?.close()));
  }
}

function retire({ client }: KnownInstance): void {
  // One of its calls has failed.
  client?.retire().then(undefined, () => undefined);
}

function connect(id: string, { origin, base }: BaseUrl, headLimitBytes: number): KnownInstance {
  const client = httpClient(origin, { headLimitBytes });
  if (base === '') return new KnownInstance(id, client.handle, client);
  const below: Handler = (request) => {
    const url = base + requestTarget(request);
    return client.handle(new PlainRequest(request.method, url, request.headers, request.body, cancelTokenOf(request)));
  };
  return new KnownInstance(id, below, client);
}
