import type { ConnectionListener } from '../../remote/connection.ts';
import { firstOf, type OpenAt } from '../../remote/first-of.ts';
import type { LinkedServer } from '../../remote/remote-link.ts';
import type { PgHost } from '../connection-string.ts';
import { errorOf } from '../failures.ts';
import { discard, openPrimary, type Primary } from '../primary.ts';
import type { TableFormat } from './formats.ts';
import { KvConnection } from './kv-connection.ts';
import { type PgStatements, statementsOf, type Tables } from './statements.ts';
import { ensureTables } from './tables.ts';

/**
 * How long a statement waits for a row that another transaction holds: those that were sent with it wait, too. A part of
 * the time limit of a call, so that the connection lasts.
 */
const MAX_LOCK_WAIT_MS = 1_000;

/**
 * The writes of values are one statement with a plan that is made once: its tables of operations are short, even if
 * statistics say otherwise. If the server does not sync at commit, it does in this session.
 */
const SETTINGS = `SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
  SET enable_mergejoin = off; SET jit = off;
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

/** The dependencies of a {@link KvServer}. */
export interface KvServerDeps {
  /** The first one that is a primary is used. */
  readonly hosts: readonly PgHost[];
  /** For messages, without credentials. */
  readonly name: string;
  readonly format: TableFormat;
  readonly tables: Tables;
  /** The key in the metadata table under which the level of the state table is. */
  readonly levelKey: string;
  readonly prepares: boolean;
  /** How long an attempt to connect may take. */
  readonly callTimeoutMs: number;
}

/** A PostgreSQL server as the server of a store of an application. */
export class KvServer implements LinkedServer<KvConnection> {
  readonly name: string;
  readonly #deps: KvServerDeps;
  readonly #statements: PgStatements;

  constructor(deps: KvServerDeps) {
    this.#deps = deps;
    this.name = deps.name;
    this.#statements = statementsOf(deps.format, deps.tables);
  }

  async connect({ onLost }: ConnectionListener, _listens: boolean, signal: AbortSignal): Promise<KvConnection> {
    const { hosts, name: server, prepares, callTimeoutMs } = this.#deps;
    const open: OpenAt<PgHost, Primary> = ({ config }, given) => openPrimary(config, given, server);
    const { client, serverId } = await firstOf(hosts, open, signal, callTimeoutMs);
    try {
      // With each connection: a standby that took over may lack them.
      await ensureTables({ client, server, ...this.#deps });
      // Behind a pooler, the settings would be those of others, too.
      const lockWaitMs = Math.ceil(Math.min(MAX_LOCK_WAIT_MS, callTimeoutMs / 3));
      if (prepares) await client.query({ text: `SET lock_timeout = ${lockWaitMs}; ${SETTINGS}`, rowMode: 'array' });
      client.on('end', onLost);
      return new KvConnection({ client, serverId, server, statements: this.#statements, prepares });
    } catch (error) {
      discard(client);
      throw errorOf(error, server);
    }
  }
}
