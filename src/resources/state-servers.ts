import { type PostgresqlOptions, postgresqlState } from '../components/postgresql/index.ts';
import { isSchemaName, SCHEMA_FORM } from '../components/postgresql/schema.ts';
import { type RedisOptions, redisState } from '../components/redis/index.ts';
import { isSidecarError } from '../errors.ts';
import type { StateDefinition } from '../state/store.ts';
import type { ComponentRole } from './component-types.ts';
import { DAY_MS, MetadataReader, type MetadataSource } from './metadata-reader.ts';
import { postgresqlConnection } from './postgresql-connection.ts';
import { redisConnection } from './redis-connection.ts';

/** State on a server. */
export type ServerRole = Extract<ComponentRole, 'postgresql-state' | 'redis-state'>;

const TIME_LIMIT = { unitMs: 1_000, maxMs: DAY_MS } as const;
const DEFAULT_OPERATION_TIMEOUT_MS = 10_000;

/** The state of a `state.postgresql` or `state.redis`; `undefined` if there is a problem. */
export function serverState(role: ServerRole, source: MetadataSource): StateDefinition | undefined {
  const reader = new MetadataReader(source);
  try {
    if (role === 'postgresql-state') {
      const options = postgresqlOptions(reader);
      return reader.hasProblem ? undefined : postgresqlState(options);
    }
    const options = redisOptions(reader);
    return reader.hasProblem ? undefined : redisState(options);
  } catch (error) {
    if (!isSidecarError(error)) throw error;
    reader.problem(
      role === 'postgresql-state'
        ? 'metadata connectionString must be a URL (postgresql://user:password@host:5432/database) or pairs (host=… user=… password=… dbname=…)'
        : 'metadata prefix must be a name without braces',
    );
    return undefined;
  }
}

function postgresqlOptions(reader: MetadataReader): PostgresqlOptions {
  const { timeoutMs, ...connection } = postgresqlAccess(reader);
  const schema = schemaOf(reader);
  if (schema !== undefined && !isSchemaName(schema)) reader.problem(`metadata schema must be ${SCHEMA_FORM}`);
  return {
    ...connection,
    ...(schema === undefined ? {} : { schema }),
    ...durability(reader),
    ...timeouts(timeoutMs),
  };
}

/** The connection of a `state.postgresql`, as its metadata describe it. */
interface PostgresqlAccess extends Pick<PostgresqlOptions, 'url'> {
  readonly preparedStatements: boolean;
  /** The time limit, if one is given. */
  readonly timeoutMs: number | undefined;
}

/** Reads the metadata of the connection of a `state.postgresql`. */
export function postgresqlAccess(reader: MetadataReader): PostgresqlAccess {
  const connection = postgresqlConnection(reader, 'state.postgresql') ?? '';
  const timeoutMs = reader.durationMs('timeout', TIME_LIMIT) || reader.durationMs('timeoutInSeconds', TIME_LIMIT);
  return {
    url: connection,
    preparedStatements: (reader.text('queryExecMode') ?? 'cache_statement') === 'cache_statement',
    timeoutMs: timeoutMs || undefined,
  };
}

/**
 * The schema, if it is given. Dapr has it in front of a table's name; programs share `public`, so tables of other
 * programs may have our names there.
 */
function schemaOf(reader: MetadataReader): string | undefined {
  const own = reader.values.get('schema');
  if (own !== undefined) return own;
  for (const name of ['tablePrefix', 'tableName', 'metadataTableName']) {
    const [schema = '', ...table] = (reader.text(name) ?? '').split('.');
    if (table.length > 0 && schema !== '' && schema !== 'public') return schema;
  }
  return undefined;
}

function redisOptions(reader: MetadataReader): RedisOptions {
  const { connection, timeoutMs } = redisConnection(reader, 'state.redis');
  return {
    ...connection,
    ...reader.texts({ prefix: 'prefix' }),
    ...durability(reader),
    ...timeouts(timeoutMs),
  };
}

function durability(reader: MetadataReader): Pick<PostgresqlOptions, 'durability'> {
  const durability = reader.choice('durability', ['synced', 'server']);
  return durability === undefined ? {} : { durability };
}

function timeouts(timeoutMs: number | undefined): Pick<PostgresqlOptions, 'callTimeout' | 'operationTimeout'> {
  if (!timeoutMs) return {};
  return { callTimeout: timeoutMs, operationTimeout: Math.max(timeoutMs, DEFAULT_OPERATION_TIMEOUT_MS) };
}
