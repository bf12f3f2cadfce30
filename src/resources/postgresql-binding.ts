import { postgresqlBinding } from '../components/postgresql/index.ts';
import { definedOnly } from '../util/defined-only.ts';
import { BINDING_NAMES, commonMetadata } from './bindings.ts';
import { DAY_MS, MetadataReader } from './metadata-reader.ts';
import { POSTGRESQL_CONNECTION_NAMES, postgresqlConnection } from './postgresql-connection.ts';
import type { MakeStore } from './store-source.ts';

/** The metadata of a `bindings.postgresql`. */
export const postgresqlBindingMetadata: { readonly uses: readonly string[]; readonly ignores: readonly string[] } = {
  // Dapr has `url` from before it had `connectionString`.
  uses: [...BINDING_NAMES, ...POSTGRESQL_CONNECTION_NAMES, 'url', 'timeout', 'timeoutInSeconds', 'maxConns'],
  ignores: ['connectionMaxIdleTime', 'queryExecMode'],
};

const TIME_LIMIT = { unitMs: 1_000, maxMs: DAY_MS } as const;
const MAX_CONNECTIONS = 100;

/** Makes a `bindings.postgresql`. */
export const makePostgresqlBinding: MakeStore = (source) => {
  const url = source.values.get('url');
  const values = new Map(source.values);
  if (url && !values.get('connectionString')) values.set('connectionString', url);
  const reader = new MetadataReader({ ...source, values });
  const common = commonMetadata(reader);
  const connection = postgresqlConnection(reader, source.type);
  const timeout = reader.durationMs('timeout', TIME_LIMIT) || reader.durationMs('timeoutInSeconds', TIME_LIMIT);
  const maxConnections = reader.number('maxConns', { max: MAX_CONNECTIONS });
  if (reader.hasProblem || connection === undefined) return undefined;
  const options = definedOnly({ timeout: timeout || undefined, maxConnections });
  return { ...postgresqlBinding(source.name, { url: connection, ...common, ...options }), type: source.type };
};
