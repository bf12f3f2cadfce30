import type { Logger } from '../../../util/logger.ts';
import { clearInterval, setInterval } from '../../../util/timers.ts';
import type {
  ConfigurationItem,
  ConfigurationStore,
  ConfigurationWatch,
  ConfigurationWatchOptions,
} from '../../configuration-store.ts';
import { isText } from '../binary.ts';
import type { PgRow } from '../driver.ts';
import { PgLine, type PgLineDeps } from '../pg-line.ts';
import { quoteName } from '../schema.ts';
import { tableInSql } from '../table-name.ts';

/** The dependencies of a {@link PgConfiguration}. */
export interface PgConfigurationDeps extends Omit<PgLineDeps, 'onConnected' | 'onNotification'> {
  readonly table: string;
  /** The channel of requests that name none. */
  readonly notifyChannel: string | undefined;
}

/** Names of PostgreSQL are cut off behind so many bytes. */
const MAX_CHANNEL_BYTES = 63;
/** How often the connection for notifications is tried: one that has gone silent would look like one without changes. */
const BEAT_MS = 5_000;

interface Watcher {
  readonly channel: string;
  readonly changed: ConfigurationWatchOptions['changed'];
}

/** The rows of a table. */
export class PgConfiguration implements ConfigurationStore {
  readonly #deps: PgConfigurationDeps;
  readonly #line: PgLine;
  readonly #logger: Logger;
  /** The table's name without its schema, as its trigger has it. */
  readonly #tableName: string;
  readonly #select: string;
  readonly #watchers = new Set<Watcher>();
  #beat: NodeJS.Timeout | undefined;

  constructor(deps: PgConfigurationDeps) {
    this.#deps = deps;
    this.#logger = deps.logger;
    this.#tableName = deps.table.toLowerCase().split('.').at(-1) ?? '';
    this.#select = selectFrom(tableInSql(deps.table));
    this.#line = new PgLine({
      ...deps,
      onConnected: () => void this.#resume(),
      onNotification: (channel, payload) => this.#onNotification(channel, payload),
    });
  }

  get failure(): Error | undefined {
    return this.#line.failure;
  }

  async get(keys: readonly string[]): Promise<ReadonlyMap<string, ConfigurationItem>> {
    const rows = await this.#line.query(this.#select, [keys.length === 0 ? null : keys.filter(isText)]);
    return new Map(rows.map((row) => [String(row[0]), itemOf(row)]));
  }

  async watch(_keys: readonly string[], { metadata, changed }: ConfigurationWatchOptions): Promise<ConfigurationWatch> {
    const channel = metadata['pgNotifyChannel'] || this.#deps.notifyChannel;
    if (!channel)
      throw new Error('no channel is named: expected metadata pgNotifyChannel of the component or the request');
    if (Buffer.byteLength(channel) > MAX_CHANNEL_BYTES || channel.includes('\0'))
      throw new Error(`the channel ${JSON.stringify(channel)} cannot be: expected at most ${MAX_CHANNEL_BYTES} bytes`);
    const watcher = { channel, changed };
    this.#watchers.add(watcher);
    try {
      await this.#line.query(`LISTEN ${quoteName(channel)}`);
    } catch (error) {
      this.#watchers.delete(watcher);
      throw error;
    }
    this.#beat ??= setInterval(() => void this.#line.query('SELECT 1').catch(() => undefined), BEAT_MS);
    return { close: () => this.#remove(watcher) };
  }

  async #remove(watcher: Watcher): Promise<void> {
    if (!this.#watchers.delete(watcher)) return;
    if (this.#watchers.size === 0) this.#stopBeat();
    if ([...this.#watchers].some(({ channel }) => channel === watcher.channel)) return;
    // A lost connection listens to nothing.
    await this.#line.query(`UNLISTEN ${quoteName(watcher.channel)}`).catch(() => undefined);
  }

  /** Listens on a new connection. What was notified before went unseen. */
  async #resume(): Promise<void> {
    const channels = new Set([...this.#watchers].map(({ channel }) => channel));
    try {
      for (const channel of channels) await this.#line.query(`LISTEN ${quoteName(channel)}`);
    } catch (error) {
      // A lost connection comes back, and with it this.
      this.#logger.debug({ error }, 'a new connection does not listen to changes of configuration');
      return;
    }
    for (const { changed } of this.#watchers) changed();
  }

  /** Others may use the channel, too. */
  #onNotification(channel: string, payload: string): void {
    const key = changedKey(payload, this.#tableName);
    if (key === undefined) {
      this.#logger.debug({ channel }, 'a notification is no change of a configuration table');
      return;
    }
    for (const watcher of this.#watchers) if (watcher.channel === channel) watcher.changed([key]);
  }

  #stopBeat(): void {
    clearInterval(this.#beat);
    this.#beat = undefined;
  }

  close(): Promise<void> {
    this.#stopBeat();
    this.#watchers.clear();
    return this.#line.close();
  }
}

/** Of several rows of a key, the one with the greatest numeric version. */
function selectFrom(table: string): string {
  return `SELECT DISTINCT ON (key) key, value, version::text, metadata::text FROM ${table}
    WHERE $1::text[] IS NULL OR key = ANY ($1::text[])
    ORDER BY key, CASE WHEN version::text ~ '^[0-9]+([.][0-9]+)?$' THEN version::text::numeric END DESC NULLS LAST,
      version::text DESC NULLS LAST`;
}

function itemOf([, value, version, metadata]: PgRow): ConfigurationItem {
  const texts = typeof metadata === 'string' ? textsOf(metadata) : undefined;
  return {
    value: typeof value === 'string' ? value : '',
    ...(typeof version === 'string' && version !== '' ? { version } : {}),
    ...(texts === undefined ? {} : { metadata: texts }),
  };
}

/** The members of a JSON object as texts; `undefined` for anything else. */
function textsOf(json: string): Readonly<Record<string, string>> | undefined {
  const value = parsed(json);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const texts = Object.entries(value).map(([name, text]) => [
    name,
    typeof text === 'string' ? text : JSON.stringify(text),
  ]);
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}

/** The key that a notification of the table's trigger is about; `undefined` for any other notification. */
function changedKey(payload: string, tableName: string): string | undefined {
  const { table, data } = Object(parsed(payload)) as { readonly table?: unknown; readonly data?: unknown };
  const { key } = Object(data) as { readonly key?: unknown };
  const isOurs = typeof table !== 'string' || table.toLowerCase() === tableName;
  return isOurs && typeof key === 'string' ? key : undefined;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
