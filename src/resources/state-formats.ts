import { resolve } from 'node:path';
import { sqliteStateStore } from '../components/embedded/index.ts';
import type { KeyValueDefinition } from '../components/key-value.ts';
import { postgresqlStateStore } from '../components/postgresql/index.ts';
import { redisStateStore } from '../components/redis/index.ts';
import { isApiError } from '../errors.ts';
import { definedOnly } from '../util/defined-only.ts';
import { DAY_MS, MetadataReader } from './metadata-reader.ts';
import { redisConnection } from './redis-connection.ts';
import { postgresqlAccess } from './state-servers.ts';
import type { MakeStore, StoreSource } from './store-source.ts';

const INTERVAL = { unitMs: 1_000, negativeIsZero: true } as const;
const TABLE = 'a name of letters, digits and underscores';
/** One reads, the others write. */
const FEWEST_CONNECTIONS = 2;
const MOST_CONNECTIONS = 100;

/** Metadata of the tables and of the cleanup. */
export const TABLE_NAMES = ['tableName', 'metadataTableName', 'cleanupInterval', 'cleanupIntervalInSeconds'] as const;

/** Makes a `state.redis` in Dapr's format. */
export const makeRedisState: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const { connection, timeoutMs } = redisConnection(reader, 'state.redis');
  const limit = timeoutMs === undefined ? {} : { callTimeout: timeoutMs };
  return made(source, reader, 'metadata clientCert and clientKey must be valid and belong together', () =>
    redisStateStore(source.name, { ...connection, ...source.options, ...limit }),
  );
};

/** Makes a `state.postgresql` in Dapr's tables. */
export const makePostgresqlState: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const { timeoutMs, ...connection } = postgresqlAccess(reader);
  const version = source.version === 'v2' ? 'v2' : 'v1';
  const connections = reader.number('maxConns', { max: MOST_CONNECTIONS });
  const more = definedOnly({
    ...reader.texts({ metadataTableName: 'metadataTableName' }),
    ...(version === 'v1' ? reader.texts({ tableName: 'tableName' }) : reader.texts({ tablePrefix: 'tablePrefix' })),
    ...cleanup(reader),
    ...(connections === undefined ? {} : { maxConnections: Math.max(FEWEST_CONNECTIONS, connections) }),
    ...(timeoutMs === undefined ? {} : { callTimeout: timeoutMs }),
  });
  const table = version === 'v1' ? 'tableName' : 'tablePrefix';
  return made(
    source,
    reader,
    `metadata ${table} and metadataTableName must be ${TABLE}, with a schema or without`,
    () => postgresqlStateStore(source.name, { ...connection, ...source.options, ...more, version }),
  );
};

/** Makes a `state.sqlite` in Dapr's table, if a `connectionString` names its file. */
export const makeSqliteState: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const file = reader.text('connectionString');
  if (file === undefined) return undefined;
  const busyTimeout = reader.durationMs('busyTimeout', { unitMs: 1_000, maxMs: DAY_MS, negativeIsZero: true });
  const more = {
    ...reader.texts({ tableName: 'tableName', metadataTableName: 'metadataTableName' }),
    ...cleanup(reader),
    ...(busyTimeout === undefined ? {} : { busyTimeout }),
  };
  const problem = `metadata connectionString must be a path or a file: URL that may be written to, tables ${TABLE}`;
  const place = inDirectory(file, source.workingDirectory);
  return made(source, reader, problem, () =>
    sqliteStateStore(source.name, { file: place, ...source.options, ...more }),
  );
};

/** A relative path, also one in a URL, begins at the working directory. */
function inDirectory(file: string, directory: string): string {
  const [, relative] = /^file:(?![/:])(.*)/s.exec(file) ?? [];
  if (relative !== undefined)
    return `file:${encodeURI(resolve(directory)).replaceAll(/[?#]/g, encodeURIComponent)}/${relative}`;
  return /^(?:file:|:memory:)/.test(file) ? file : resolve(directory, file);
}

/** 0 and less: never. */
function cleanup(reader: MetadataReader): { readonly cleanupInterval?: number } {
  const name = reader.text('cleanupInterval') === undefined ? 'cleanupIntervalInSeconds' : 'cleanupInterval';
  const ms = reader.durationMs(name, { ...INTERVAL, maxMs: 24 * DAY_MS });
  return ms === undefined ? {} : { cleanupInterval: ms };
}

/** The values of options may come from a secret store: no problem shows them. */
function made(
  { problem }: StoreSource,
  reader: MetadataReader,
  text: string,
  make: () => KeyValueDefinition,
): KeyValueDefinition | undefined {
  if (reader.hasProblem) return undefined;
  try {
    return make();
  } catch (error) {
    if (!isApiError(error)) throw error;
    problem(text);
    return undefined;
  }
}
