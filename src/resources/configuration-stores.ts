import { memoryConfiguration } from '../components/memory/memory-configuration.ts';
import { postgresqlConfiguration } from '../components/postgresql/index.ts';
import { TABLE_NAME_FORM } from '../components/postgresql/table-name.ts';
import { redisConfiguration } from '../components/redis/index.ts';
import { isApiError } from '../errors.ts';
import { DAY_MS, MetadataReader } from './metadata-reader.ts';
import { POSTGRESQL_CONNECTION_NAMES, postgresqlConnection } from './postgresql-connection.ts';
import { REDIS_CONNECTION_IGNORES, REDIS_CONNECTION_NAMES } from './redis-connection.ts';
import { redisStore } from './redis-stores.ts';
import type { MakeStore } from './store-source.ts';

interface MetadataNames {
  readonly uses: readonly string[];
  readonly ignores: readonly string[];
}

/** The metadata of a `configuration.redis`. */
export const redisConfigurationMetadata: MetadataNames = {
  uses: REDIS_CONNECTION_NAMES,
  ignores: [...REDIS_CONNECTION_IGNORES, 'processingTimeout', 'redeliverInterval'],
};

/** The metadata of a `configuration.postgresql`. */
export const postgresqlConfigurationMetadata: MetadataNames = {
  uses: [...POSTGRESQL_CONNECTION_NAMES, 'table', 'pgNotifyChannel', 'timeout', 'timeoutInSeconds'],
  ignores: ['connMaxIdleTime', 'connectionMaxIdleTime', 'maxConns', 'queryExecMode'],
};

/** Makes a `configuration.in-memory`: nothing can be set from a file. */
export const makeMemoryConfiguration: MakeStore = ({ name }) => memoryConfiguration(name);

/** Makes a `configuration.redis`. */
export const makeRedisConfiguration: MakeStore = (source) =>
  redisStore(source, (connection) => redisConfiguration(source.name, connection));

const TIME_LIMIT = { unitMs: 1_000, maxMs: DAY_MS } as const;

/** Makes a `configuration.postgresql`. */
export const makePostgresqlConfiguration: MakeStore = (source) => {
  const reader = new MetadataReader(source);
  const connection = postgresqlConnection(reader, source.type);
  const table = reader.text('table');
  if (table === undefined) reader.problem(`${source.type} needs metadata table`);
  const callTimeout = reader.durationMs('timeout', TIME_LIMIT) || reader.durationMs('timeoutInSeconds', TIME_LIMIT);
  if (reader.hasProblem || table === undefined || connection === undefined) return undefined;
  try {
    const definition = postgresqlConfiguration(source.name, {
      url: connection,
      table,
      ...reader.texts({ notifyChannel: 'pgNotifyChannel' }),
      ...(callTimeout ? { callTimeout } : {}),
    });
    return { ...definition, type: source.type };
  } catch (error) {
    if (!isApiError(error)) throw error;
    reader.problem(`metadata table must be ${TABLE_NAME_FORM}`);
    return undefined;
  }
};
