import { StateError } from '../../state/errors.ts';
import { ConnectionLostError } from '../remote/connection.ts';
import { loadPg, makeClient, type PgClient, type PgConfig } from './driver.ts';
import { errorOf } from './failures.ts';

/** The oldest PostgreSQL version that supports the syntax of the statements. */
const MIN_VERSION = 130_000;

/** A connection to a primary. */
export interface Primary {
  readonly client: PgClient;
  /** Identifies the running server. */
  readonly serverId: string;
  /** Its setting. */
  readonly fsync: string;
}

/** Ends a connection at once. */
export function discard(client: PgClient): void {
  client.connection.stream.destroy();
}

/** How a connection is opened. */
export interface PgClientOptions {
  readonly load: () => ReturnType<typeof loadPg>;
  readonly config: PgConfig;
  /** Gives the connection up, even if it is open. */
  readonly signal: AbortSignal;
  /** For messages. */
  readonly server: string;
}

/** Connects to a server and checks what it is; if `check` rejects, the connection is ended. */
export async function openClient<T>(
  { load, config, signal, server }: PgClientOptions,
  check: (client: PgClient) => Promise<T>,
): Promise<T> {
  const pg = await load();
  // It fires once: what connects after it would stay connected.
  signal.throwIfAborted();
  const client = makeClient(pg, { ...config, pipeline: true });
  signal.addEventListener('abort', () => discard(client));
  // `end` follows; without a listener, the error would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await check(client);
  } catch (error) {
    discard(client);
    throw errorOf(error, server);
  }
}

/** Connects to a server, and checks its version and that it takes changes. */
export function openPrimary(config: PgConfig, signal: AbortSignal, server: string): Promise<Primary> {
  return openClient({ load: () => loadPg(), config, signal, server }, async (client) => ({
    client,
    ...(await check(client, server)),
  }));
}

async function check(client: PgClient, server: string): Promise<Omit<Primary, 'client'>> {
  const text = `SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
    current_setting('server_version_num')::integer, pg_postmaster_start_time()::text, current_setting('fsync')`;
  const { rows } = await client.query({ text, rowMode: 'array' });
  const [isStandby, isReadOnly, version, startedAt, fsync] = rows[0] ?? [];
  if (isStandby === true) throw new ConnectionLostError('the server is a standby, and only a primary takes changes');
  if (isReadOnly === true)
    throw new ConnectionLostError('the server takes no changes: default_transaction_read_only is on');
  if (Number(version) < MIN_VERSION)
    throw new StateError('failed', `${server} is version ${String(version)} of PostgreSQL: 13 or later is needed.`);
  return { serverId: String(startedAt), fsync: String(fsync) };
}
