/**
 * State in Redis or Valkey.
 *
 * @packageDocumentation
 */

import { StateError } from '../../state/errors.ts';
import type { StateDefinition } from '../../state/store.ts';
import { fieldNames, fieldsProblem } from '../../util/known-fields.ts';
import { requiredDurability } from '../remote/durability.ts';
import { checkOnCall, type StateCall } from '../remote/observed-server.ts';
import { openRemoteStore, placeOf } from '../remote/remote-store.ts';
import { timeoutsOf } from '../remote/timeouts.ts';
import { type RedisNode, RedisServer, type RedisServerDeps } from './redis-server.ts';

/** Options of {@link redis}. @public */
export interface RedisOptions {
  /** `redis://[[user][:password]@]host[:port][/database]`, or `rediss://` for TLS. Alternative: `nodes`. */
  readonly url?: string;
  /** The nodes of a cluster, or the sentinels: `host:port`; the first one that responds is used. */
  readonly nodes?: readonly string[];
  /** The server's name at the sentinels; if set, `nodes` are the sentinels. */
  readonly sentinelName?: string;
  /** Whether `nodes` form a cluster. One of them holds the store. Default: `false`. */
  readonly cluster?: boolean;
  /** Default: that of the URL. */
  readonly username?: string;
  /** Default: that of the URL. */
  readonly password?: string;
  /** For the sentinels. Default: none. */
  readonly sentinelUsername?: string;
  /** For the sentinels. Default: none. */
  readonly sentinelPassword?: string;
  /** Default: that of the URL, else 0. */
  readonly database?: number;
  /** `true`, or the options of `tls.connect`. Default: `true` if the URL starts with `rediss`. */
  readonly tls?: boolean | object;
  /** The prefix of all keys, in braces; sidecars that share it share state. Default `insidecar`. */
  readonly prefix?: string;
  /**
   * `'synced'` refuses a server that does not sync each commit (`appendonly yes`, `appendfsync always`); `'server'`
   * accepts its settings. Default: `'server'`.
   */
  readonly durability?: 'synced' | 'server';
  /** The time limit of one call to the server, in milliseconds. Default 5,000. */
  readonly callTimeoutMs?: number;
  /** The time limit of a read or a commit, with reconnections, in milliseconds. Default 10,000. */
  readonly operationTimeoutMs?: number;
  /**
   * Called after each call of the server, for metrics. It must not take long; what it throws is logged once. Default:
   * none.
   */
  readonly onCall?: (call: StateCall) => void;
}

export type { StateCall };

const FIELDS = fieldNames<RedisOptions>({
  url: true,
  nodes: true,
  sentinelName: true,
  cluster: true,
  username: true,
  password: true,
  sentinelUsername: true,
  sentinelPassword: true,
  database: true,
  tls: true,
  prefix: true,
  durability: true,
  callTimeoutMs: true,
  operationTimeoutMs: true,
  onCall: true,
});
const DEFAULT_PORT = 6379;
const DEFAULT_SENTINEL_PORT = 26379;

/**
 * State in Redis 6.2 or later, or Valkey, for sidecars on several machines. Needs the package `redis` 6. The server's
 * persistence decides how much a crash of the server can lose: nothing with `appendonly yes` and `appendfsync always`.
 * Its `maxmemory-policy` must be `noeviction`.
 *
 * Replication is asynchronous. A failover can lose acknowledged commits, and during a network split two hosts may both
 * own a shard. Keep state that must not be lost on PostgreSQL, or on a single Redis with `appendfsync always`.
 *
 * If the server does not respond at the start, the store connects as soon as it does; until then the sidecar is not
 * healthy. Opening rejects with a `StateError`: `driver-missing`, `newer-format`, or `failed` for errors that retries
 * cannot fix, such as wrong credentials.
 *
 * @example
 * ```ts
 * const sidecar = new Sidecar({ appId: 'orders', state: redis({ url: 'redis://cache.internal:6379' }) });
 * ```
 * @public
 */
export function redis(options: RedisOptions): StateDefinition {
  check(options);
  const timeouts = timeoutsOf(options, 'redis');
  checkOnCall(options.onCall, 'redis');
  const server = new RedisServer(depsOf(options));
  return {
    type: 'redis',
    place: placeOf(server),
    open: (context) => openRemoteStore(server, context, { ...timeouts, onCall: options.onCall }),
  };
}

function depsOf(options: RedisOptions): RedisServerDeps {
  const url = options.url === undefined ? undefined : urlOf(options.url);
  const { sentinelName, cluster: isCluster = false, tls = url?.protocol === 'rediss:', prefix = 'insidecar' } = options;
  const port = sentinelName === undefined ? DEFAULT_PORT : DEFAULT_SENTINEL_PORT;
  const nodes = options.nodes?.map((node) => nodeOf(node, port));
  return {
    nodes: nodes ?? [nodeAt(url?.hostname || 'localhost', Number(url?.port || port))],
    sentinelName,
    isCluster,
    username: options.username ?? textOf(url?.username),
    password: options.password ?? textOf(url?.password),
    sentinelUsername: options.sentinelUsername,
    sentinelPassword: options.sentinelPassword,
    database: options.database ?? Number(url?.pathname.slice(1) ?? 0),
    tls: tls === false ? undefined : tls === true ? {} : tls,
    prefix,
    durability: requiredDurability(options.durability ?? 'server', 'redis'),
  };
}

function textOf(part: string | undefined): string | undefined {
  return part === undefined || part === '' ? undefined : decodeURIComponent(part);
}

function check(options: RedisOptions): void {
  const problem = fieldsProblem(options, FIELDS, 'options of redis');
  if (problem !== undefined) throw new StateError('invalid', problem);
  const { url, nodes, prefix = 'insidecar', database = 0 } = options;
  if ((url === undefined) === (nodes === undefined))
    throw new StateError('invalid', 'redis needs either url or nodes.');
  if (nodes?.length === 0) throw new StateError('invalid', 'nodes of redis must name at least one node.');
  if (typeof prefix !== 'string' || prefix === '' || /[{}\0]/.test(prefix))
    throw new StateError('invalid', `The prefix ${JSON.stringify(prefix)} of redis must be a name without braces.`);
  if (!Number.isSafeInteger(database) || database < 0)
    throw new StateError('invalid', `database ${String(database)} of redis must be a whole number of 0 or more.`);
}

/** Parses the URL. Messages do not show it, since it may hold a password. */
function urlOf(text: string): URL {
  let url: URL | undefined;
  try {
    url = new URL(text);
  } catch {
    // Reported below.
  }
  if (url === undefined || !/^rediss?:$/.test(url.protocol) || !/^(\/\d*)?$/.test(url.pathname))
    throw new StateError('invalid', 'The url of redis must be like "redis://user:password@host:6379/0".');
  return url;
}

function nodeOf(text: string, defaultPort: number): RedisNode {
  const found = /^(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(text);
  if (found === null)
    throw new StateError('invalid', `The node ${JSON.stringify(text)} of redis must be like "host:6379".`);
  return nodeAt(found[1] ?? '', Number(found[2] ?? defaultPort));
}

function nodeAt(host: string, port: number): RedisNode {
  return { name: `${host}:${port}`, host: host.replaceAll(/^\[|\]$/g, ''), port };
}
