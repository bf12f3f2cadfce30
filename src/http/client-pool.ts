import { LruCache } from '../util/lru.ts';
import { HEAD_LIMIT_BYTES } from './head-limit.ts';
import { type ClientOptions, type HttpClient, httpClient } from './pool-client.ts';

/** HTTP clients by origin, up to a maximum; beyond it, the least recently used one is retired. */
export class ClientPool {
  readonly #clients: LruCache<HttpClient>;
  readonly #make: (origin: string) => HttpClient;
  readonly #retiring = new Set<HttpClient>();

  constructor(
    maxOrigins: number,
    headLimitBytes: number = HEAD_LIMIT_BYTES,
    make: (origin: string, options: ClientOptions) => HttpClient = httpClient,
  ) {
    this.#make = (origin) => make(origin, { headLimitBytes });
    this.#clients = new LruCache(maxOrigins, (client) => this.#retire(client));
  }

  clientOf(origin: string): HttpClient {
    return this.#clients.getOrMake(origin, () => this.#make(origin));
  }

  #retire(client: HttpClient): void {
    this.#retiring.add(client);
    const done = (): void => void this.#retiring.delete(client);
    client.retire().then(done, done);
  }

  /** Aborts requests in progress. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.take(), ...this.#retiring].map((client) => client.close()));
  }
}
