import { LruCache } from '../util/lru.ts';
import { type HttpClient, httpClient } from './client.ts';

/** Clients by origin, at most so many: whose turn was longest ago is let go, once what it does has ended. */
export class ClientPool {
  readonly #clients: LruCache<HttpClient>;
  readonly #retiring = new Set<HttpClient>();

  constructor(maxOrigins: number) {
    this.#clients = new LruCache(maxOrigins, (client) => this.#retire(client));
  }

  clientOf(origin: string): HttpClient {
    return this.#clients.getOrMake(origin, () => httpClient(origin));
  }

  #retire(client: HttpClient): void {
    this.#retiring.add(client);
    const done = (): void => void this.#retiring.delete(client);
    client.retire().then(done, done);
  }

  /** Breaks off what is still running. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.take(), ...this.#retiring].map((client) => client.close()));
  }
}
