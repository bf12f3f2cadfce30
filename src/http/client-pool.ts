import { type HttpClient, httpClient } from './client.ts';

/** Clients by origin, at most so many: whose turn was longest ago is let go, once what it does has ended. */
export class ClientPool {
  readonly #maxOrigins: number;
  /** In the order of their last use. */
  readonly #clients = new Map<string, HttpClient>();
  readonly #retiring = new Set<HttpClient>();

  constructor(maxOrigins: number) {
    this.#maxOrigins = maxOrigins;
  }

  clientOf(origin: string): HttpClient {
    const known = this.#clients.get(origin);
    const client = known ?? httpClient(origin);
    if (known !== undefined) this.#clients.delete(origin);
    this.#clients.set(origin, client);
    if (this.#clients.size > this.#maxOrigins) this.#retireOldest();
    return client;
  }

  #retireOldest(): void {
    const [oldest] = this.#clients;
    if (oldest === undefined) return;
    const [origin, client] = oldest;
    this.#clients.delete(origin);
    this.#retiring.add(client);
    const done = (): void => void this.#retiring.delete(client);
    client.retire().then(done, done);
  }

  /** Breaks off what is still running. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.values(), ...this.#retiring].map((client) => client.close()));
  }
}
