import type { RedisConnectionOptions } from '../components/redis/index.ts';
import { DAY_MS, type MetadataReader } from './metadata-reader.ts';

/** The metadata of a connection to Redis. */
export const REDIS_CONNECTION_NAMES = [
  'redisHost',
  'redisPort',
  'redisUsername',
  'redisPassword',
  'redisDB',
  'redisType',
  'enableTLS',
  'insecureSkipTLSVerify',
  'clientCert',
  'clientKey',
  'failover',
  'sentinelMasterName',
  'sentinelUsername',
  'sentinelPassword',
  'dialTimeout',
  'readTimeout',
  'writeTimeout',
  'useEntraID',
] as const;

/** Metadata of Dapr's for connections that have no use here: there are few connections, and they reconnect for ever. */
export const REDIS_CONNECTION_IGNORES = [
  'idleCheckFrequency',
  'idleTimeout',
  'maxConnAge',
  'maxRetries',
  'maxRetryBackoff',
  'minIdleConns',
  'poolSize',
  'poolTimeout',
  'redisMaxRetries',
  'redisMaxRetryInterval',
  'redisMinRetryInterval',
] as const;

/** Plain numbers are milliseconds, and negative ones switch something off. */
export const REDIS_DURATION = { unitMs: 1, negativeIsZero: true } as const;

/** As many as Redis takes. */
const MAX_DATABASE = 2 ** 31 - 1;
const NODE = /^(?:\[[^\]\s]+\]|[^:\s[\]]+)(?::\d{1,5})?$/;

/** A connection, as the metadata describe it. */
export interface RedisAccess {
  readonly connection: RedisConnectionOptions;
  /** The longest of the time limits, if one is given. */
  readonly timeoutMs: number | undefined;
}

/** Reads the metadata of a connection to Redis. */
export function redisConnection(reader: MetadataReader, typeName: string): RedisAccess {
  if (reader.flag('useEntraID')) reader.problem('metadata useEntraID: insidecar gets no access tokens of Entra ID');
  const [hosts = '', port] = [reader.text('redisHost'), reader.text('redisPort')];
  const nodes = hosts.split(',').map((node) => withPort(node.trim(), port));
  if (!nodes.every((node) => NODE.test(node)))
    reader.problem(`${typeName} needs metadata redisHost: "host:6379", or several with commas between them`);
  const cluster = reader.choice('redisType', ['node', 'cluster']) === 'cluster';
  const sentinelName = reader.flag('failover') ? reader.text('sentinelMasterName') : undefined;
  if (reader.flag('failover') && sentinelName === undefined)
    reader.problem('metadata failover needs sentinelMasterName');
  const database = reader.number('redisDB', { max: MAX_DATABASE }) ?? 0;
  const limits = ['dialTimeout', 'readTimeout', 'writeTimeout'].flatMap(
    (name) => reader.durationMs(name, { ...REDIS_DURATION, maxMs: DAY_MS }) || [],
  );
  const connection = {
    nodes,
    cluster,
    ...(cluster ? {} : { database }),
    ...reader.texts({
      username: 'redisUsername',
      password: 'redisPassword',
      sentinelUsername: 'sentinelUsername',
      sentinelPassword: 'sentinelPassword',
    }),
    ...(sentinelName === undefined ? {} : { sentinelName }),
    ...tlsOf(reader),
  };
  return { connection, timeoutMs: limits.length === 0 ? undefined : Math.max(...limits) };
}

function withPort(node: string, port: string | undefined): string {
  return !port || /:\d+$/.test(node) ? node : `${node}:${port}`;
}

function tlsOf(reader: MetadataReader): Pick<RedisConnectionOptions, 'tls'> {
  const own = reader.certificates();
  if (!reader.flag('enableTLS') && own === undefined) return {};
  return { tls: reader.flag('insecureSkipTLSVerify') ? { ...own, rejectUnauthorized: false } : { ...own } };
}
