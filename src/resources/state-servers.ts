import { withParts } from '../components/postgresql/connection-string.ts';
import { type PostgresqlOptions, postgresql } from '../components/postgresql/index.ts';
import { type RedisOptions, redis } from '../components/redis/index.ts';
import { isStateError } from '../state/errors.ts';
import type { StateDefinition } from '../state/store.ts';
import { parseGoDuration } from '../util/duration.ts';
import type { ComponentRole } from './component-types.ts';

/** State on a server. */
export type ServerRole = Extract<ComponentRole, 'postgresql-state' | 'redis-state'>;

/** The metadata of a component, by name. */
type Values = ReadonlyMap<string, string>;

/** Reports a problem. Messages contain no value, since it may come from a secret store. */
type Problem = (message: string) => void;

const NODE = /^(?:\[[^\]\s]+\]|[^:\s[\]]+)(?::\d{1,5})?$/;
const MAX_TIMEOUT_MS = 86_400_000;
const DEFAULT_OPERATION_TIMEOUT_MS = 10_000;

/** The state of a `state.postgresql` or `state.redis`; `undefined` if there is a problem. */
export function serverState(role: ServerRole, values: Values, problem: Problem): StateDefinition | undefined {
  let isFine = true;
  const refuse = (message: string): void => {
    isFine = false;
    problem(message);
  };
  try {
    if (role === 'postgresql-state') {
      const options = postgresqlOptions(values, refuse);
      return isFine ? postgresql(options) : undefined;
    }
    const options = redisOptions(values, refuse);
    return isFine ? redis(options) : undefined;
  } catch (error) {
    if (!isStateError(error)) throw error;
    problem(
      role === 'postgresql-state'
        ? 'metadata connectionString must be a URL (postgresql://user:password@host:5432/database) or pairs (host=… user=… password=… dbname=…)'
        : 'metadata prefix must be a name without braces',
    );
    return undefined;
  }
}

function postgresqlOptions(values: Values, problem: Problem): PostgresqlOptions {
  for (const [name, login] of [
    ['useAzureAD', 'of Azure AD'],
    ['useAWSIAM', 'of AWS IAM'],
  ] as const)
    if (isOn(values, name)) problem(`metadata ${name}: insidecar gets no access tokens ${login}; use a password`);
  const text = values.get('connectionString') || undefined;
  const host = values.get('host') || values.get('hostaddr');
  if (text === undefined && !host) problem('state.postgresql needs metadata connectionString');
  const parts = texts(values, {
    host: 'host',
    hostaddr: 'hostaddr',
    port: 'port',
    user: 'user',
    password: 'password',
    database: 'database',
    sslrootcert: 'sslRootCert',
  });
  if (parts.port !== undefined && !/^\d{1,5}$/.test(parts.port)) problem('metadata port must be a port');
  const timeoutMs = timeout(values, 'timeout', 1_000, problem) ?? timeout(values, 'timeoutInSeconds', 1_000, problem);
  const mode = values.get('queryExecMode') ?? '';
  const schema = schemaOf(values, problem);
  return {
    connection: withParts(text, parts),
    preparedStatements: mode === '' || mode === 'cache_statement',
    ...(schema === undefined ? {} : { schema }),
    ...durability(values, problem),
    ...timeouts(timeoutMs),
  };
}

/**
 * The schema, if it is given. Dapr has it in front of a table's name; `public` is nobody's own, so that tables of other
 * programs may have our names there.
 */
function schemaOf(values: Values, problem: Problem): string | undefined {
  const own = values.get('schema');
  if (own !== undefined) {
    if (own === '' || own.includes('\0') || Buffer.byteLength(own) > 53)
      problem('metadata schema must be a name of 1 to 53 bytes');
    return own;
  }
  for (const name of ['tablePrefix', 'tableName', 'metadataTableName']) {
    const [schema = '', ...table] = (values.get(name) ?? '').split('.');
    if (table.length > 0 && schema !== '' && schema !== 'public') return schema;
  }
  return undefined;
}

function redisOptions(values: Values, problem: Problem): RedisOptions {
  if (isOn(values, 'useEntraID')) problem('metadata useEntraID: insidecar gets no access tokens of Entra ID');
  const nodes = (values.get('redisHost') ?? '').split(',').map((node) => node.trim());
  if (!nodes.every((node) => NODE.test(node)))
    problem('state.redis needs metadata redisHost: "host:6379", or several with commas between them');
  const type = values.get('redisType') || 'node';
  if (type !== 'node' && type !== 'cluster') problem('metadata redisType must be "node" or "cluster"');
  const sentinelName = isOn(values, 'failover') ? values.get('sentinelMasterName') : undefined;
  if (isOn(values, 'failover') && !sentinelName) problem('metadata failover needs sentinelMasterName');
  const database = values.get('redisDB') || '0';
  if (!/^\d{1,9}$/.test(database)) problem('metadata redisDB must be a whole number of 0 or more');
  const timeoutsMs = ['dialTimeout', 'readTimeout', 'writeTimeout'].flatMap(
    (name) => timeout(values, name, 1, problem) ?? [],
  );
  return {
    nodes,
    cluster: type === 'cluster',
    ...(type === 'cluster' ? {} : { database: Number(database) }),
    ...texts(values, {
      username: 'redisUsername',
      password: 'redisPassword',
      sentinelUsername: 'sentinelUsername',
      sentinelPassword: 'sentinelPassword',
      prefix: 'prefix',
    }),
    ...(sentinelName ? { sentinelName } : {}),
    ...tlsOf(values, problem),
    ...durability(values, problem),
    ...timeouts(timeoutsMs.length === 0 ? undefined : Math.max(...timeoutsMs)),
  };
}

function tlsOf(values: Values, problem: Problem): Pick<RedisOptions, 'tls'> {
  const own = texts(values, { cert: 'clientCert', key: 'clientKey' });
  if ((own.cert === undefined) !== (own.key === undefined))
    problem('metadata clientCert and clientKey belong together');
  return isOn(values, 'enableTLS') || own.cert !== undefined ? { tls: own } : {};
}

/** The given texts, by the names of options; empty ones count as not given. */
function texts<Option extends string>(
  values: Values,
  names: Readonly<Record<Option, string>>,
): { [Name in Option]?: string } {
  const given = Object.entries<string>(names).map(([option, name]) => [option, values.get(name)]);
  // The cast is safe: the options are those of the parameter.
  return Object.fromEntries(given.filter(([, text]) => text)) as { [Name in Option]?: string };
}

function durability(values: Values, problem: Problem): Pick<PostgresqlOptions, 'durability'> {
  const required = values.get('durability');
  if (!required) return {};
  if (required === 'synced' || required === 'server') return { durability: required };
  problem('metadata durability must be "synced" or "server"');
  return {};
}

function timeouts(timeoutMs: number | undefined): Pick<PostgresqlOptions, 'callTimeoutMs' | 'operationTimeoutMs'> {
  if (timeoutMs === undefined) return {};
  return { callTimeoutMs: timeoutMs, operationTimeoutMs: Math.max(timeoutMs, DEFAULT_OPERATION_TIMEOUT_MS) };
}

/** In milliseconds. Zero and less mean "no limit" in Dapr, which is the default here. */
function timeout(values: Values, name: string, unitMs: number, problem: Problem): number | undefined {
  const text = values.get(name);
  if (!text) return undefined;
  const ms = /^-?\d{1,12}$/.test(text) ? Number(text) * unitMs : parseGoDuration(text);
  if (ms === undefined || ms > MAX_TIMEOUT_MS) {
    problem(`metadata ${name} must be a duration of at most 24h, such as "5s"`);
    return undefined;
  }
  return ms > 0 ? Math.ceil(ms) : undefined;
}

/** The words that Dapr takes for true. */
function isOn(values: Values, name: string): boolean {
  return ['y', 'yes', 'true', 't', 'on', '1'].includes((values.get(name) ?? '').trim().toLowerCase());
}
