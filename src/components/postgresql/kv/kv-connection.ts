import type { LinkedConnection } from '../../remote/remote-link.ts';
import type { PgClient, PgRow } from '../driver.ts';
import { errorOf } from '../failures.ts';
import { cancel } from '../pg-connection.ts';
import type { PgStatements } from './statements.ts';

/** The dependencies of a {@link KvConnection}. */
export interface KvConnectionDeps {
  readonly client: PgClient;
  readonly serverId: string;
  /** For messages. */
  readonly server: string;
  readonly statements: PgStatements;
  /** Whether statements are prepared once per connection: not behind a pooler without support for them. */
  readonly prepares: boolean;
}

/** One connection to PostgreSQL for values of applications. */
export class KvConnection implements LinkedConnection {
  readonly #deps: KvConnectionDeps;
  #underWay = 0;

  constructor(deps: KvConnectionDeps) {
    this.#deps = deps;
  }

  get serverId(): string {
    return this.#deps.serverId;
  }

  async run(name: keyof PgStatements, values: readonly unknown[]): Promise<readonly PgRow[]> {
    const { client, server, statements, prepares } = this.#deps;
    this.#underWay++;
    try {
      const named = prepares ? { name: `insidecar.kv.${name}` } : undefined;
      const { rows } = await client.query({ text: statements[name], values, ...named, rowMode: 'array' });
      return rows;
    } catch (error) {
      throw errorOf(error, server);
    } finally {
      this.#underWay--;
    }
  }

  /** A statement that still runs would keep the server from ending this connection. */
  destroy(): void {
    const { client } = this.#deps;
    if (this.#underWay > 0) cancel(client);
    client.connection.stream.destroy();
  }
}
