import { connect } from 'node:net';
import type { Entry, KeyedEntry, KeyRange, Scan } from '../../state/store.ts';
import {
  type ClosedSession,
  type CommitGroup,
  type ConnectionListener,
  type RemoteConnection,
  refusalsOf,
} from '../remote/connection.ts';
import type { FoundDurability } from '../remote/durability.ts';
import type { PendingGroup } from '../remote/pending-group.ts';
import { keyArray } from './binary.ts';
import type { PgClient, PgRow } from './driver.ts';
import { errorOf } from './failures.ts';
import { groupArguments, oneArguments } from './group-arguments.ts';
import { quoteName } from './schema.ts';

/** Not a byte of UTF-8: greater than every key. */
const BEYOND = Buffer.from([0xff]);
/** The greatest number of PostgreSQL's `bigint`. */
const NO_LIMIT = '9223372036854775807';
/** The protocol's number of a cancel request. */
const CANCEL = 80_877_102;
const CANCEL_TIMEOUT_MS = 2_000;

/** The dependencies of a {@link PgConnection}. */
export interface PgConnectionDeps {
  readonly client: PgClient;
  readonly serverId: string;
  /** For messages. */
  readonly server: string;
  readonly schema: string;
  /** Whether statements are prepared once per connection: not behind a pooler without support for them. */
  readonly prepares: boolean;
  readonly durability: FoundDurability;
}

/** One connection to PostgreSQL: every call is a function of the schema. */
export class PgConnection implements RemoteConnection {
  readonly #deps: PgConnectionDeps;
  #underWay = 0;

  constructor(deps: PgConnectionDeps) {
    this.#deps = deps;
  }

  get serverId(): string {
    return this.#deps.serverId;
  }

  get durability(): FoundDurability {
    return this.#deps.durability;
  }

  /** Reports the loss of the connection, and receives messages if `listens`. */
  async listen({ onLost, onMessage }: ConnectionListener, listens: boolean): Promise<void> {
    const { client } = this.#deps;
    client.on('end', onLost);
    client.on('notification', ({ payload }) => payload !== undefined && onMessage(payload));
    if (listens) await this.#query(`LISTEN ${quoteName(this.#channel)}`);
  }

  get #channel(): string {
    return `insidecar:${this.#deps.schema}`;
  }

  async #query(text: string, values: readonly unknown[] = [], name?: string): Promise<readonly PgRow[]> {
    const { client, server, prepares } = this.#deps;
    this.#underWay++;
    try {
      const named = name !== undefined && prepares ? { name: `insidecar.${name}` } : undefined;
      const { rows } = await client.query({ text, values, ...named, rowMode: 'array' });
      return rows;
    } catch (error) {
      throw errorOf(error, server);
    } finally {
      this.#underWay--;
    }
  }

  /** Calls a function of the schema that returns rows. */
  #call(name: string, columns: string, values: readonly unknown[]): Promise<readonly PgRow[]> {
    return this.#query(`SELECT ${columns} FROM ${this.#expression(name, values)}`, values, name);
  }

  /** Calls a function that returns one value, which costs the server less without FROM. */
  async #value(name: string, values: readonly unknown[] = []): Promise<unknown> {
    const [row] = await this.#query(`SELECT ${this.#expression(name, values)}`, values, name);
    return row?.[0];
  }

  #expression(name: string, values: readonly unknown[]): string {
    return `${quoteName(this.#deps.schema)}.${name}(${values.map((_value, index) => `$${index + 1}`).join()})`;
  }

  async get(keys: readonly string[]): Promise<readonly (Entry | undefined)[]> {
    const found = new Array<Entry | undefined>(keys.length).fill(undefined);
    for (const [at, version, value] of await this.#call('get_1', 'at, version, value', [keyArray(keys)]))
      found[Number(at) - 1] = { version: Number(version), value: bytesOf(value) };
    return found;
  }

  async scan({ from, to, limit, maxBytes, reverse = false }: Scan): Promise<readonly KeyedEntry[]> {
    const bounds = boundsOf({ from, to });
    const limits = [limit ?? NO_LIMIT, maxBytes ?? NO_LIMIT].map(String);
    const rows = await this.#call(reverse ? 'scan_back_1' : 'scan_1', 'key, version, value', [...bounds, ...limits]);
    return rows.map(([key, version, value]) => ({
      key: (key as Buffer).toString(),
      version: Number(version),
      value: bytesOf(value),
    }));
  }

  async count(range: KeyRange, limit: number): Promise<number> {
    return Number(await this.#value('count_1', [...boundsOf(range), String(limit)]));
  }

  async openSession(): Promise<number> {
    return Number(await this.#value('open_session_1'));
  }

  async closeSession(session: number, unanswered: CommitGroup | undefined): Promise<ClosedSession> {
    const [row] = await this.#call('close_session_1', 'last_group, last_refused', [String(session)]);
    const group = Number(row?.[0]);
    return { group, refusals: group === unanswered?.number ? refusalsOf(row?.[1] as readonly number[]) : [] };
  }

  async commit(pending: PendingGroup): Promise<readonly string[]> {
    const one = oneArguments(pending);
    const failed =
      one === undefined ? this.#value('commit_group_3', groupArguments(pending)) : this.#value('commit_one_1', one);
    const { message } = pending.group;
    // A statement of its own: in the same transaction, processes would wait for each other's sync.
    if (message !== undefined) this.notify([message]).catch(() => undefined);
    return (((await failed) ?? []) as readonly Buffer[]).map(String);
  }

  /** Without a sync: messages may be lost in a crash. */
  async notify(messages: readonly string[]): Promise<void> {
    const text = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, m) FROM unnest($2::text[]) m`;
    await this.#query(text, [this.#channel, messages], 'notify');
  }

  /** A statement that still runs would keep the server from ending this connection, while each retry makes another. */
  destroy(): void {
    const { client } = this.#deps;
    if (this.#underWay > 0) cancel(client);
    client.connection.stream.destroy();
  }
}

/** Asks the server to cancel what runs on a connection: a message on a connection of its own, which has no answer. */
export function cancel({ host, port, processID, secretKey }: PgClient): void {
  if (processID === null || secretKey === null) return;
  const message = Buffer.alloc(16);
  let at = 0;
  for (const number of [message.length, CANCEL, processID, secretKey]) at = message.writeInt32BE(number, at);
  const place = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
  const socket = connect(place, () => socket.end(message)).unref();
  socket.setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy()).on('error', () => undefined);
}

function boundsOf({ from, to }: Pick<KeyRange, 'from'> & { readonly to?: string | undefined }): readonly Buffer[] {
  return [Buffer.from(from), to === undefined ? BEYOND : Buffer.from(to)];
}

/** Copies the bytes: the driver's buffer may be part of a larger one. */
function bytesOf(value: unknown): Uint8Array {
  return new Uint8Array(value as Buffer);
}
