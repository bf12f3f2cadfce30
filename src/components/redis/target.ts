import {
  ANY_TEXT,
  BOOLEAN,
  field,
  invalidConfiguration,
  isTexts,
  type OptionFields,
  secret,
  TEXT,
  whole,
} from '../../util/option-fields.ts';
import { serverUrl, urlPart } from '../broker/server-url.ts';
import type { ServerPlace } from '../remote/first-of.ts';
import { TLS } from '../tls-fields.ts';

/** Options that say where a Redis is and how to log in. @public */
export interface RedisConnectionOptions {
  /** `redis://[[user][:password]@]host[:port][/database]`, or `rediss://` for TLS. Default: none; `nodes` is then required. */
  readonly url?: string | undefined;
  /** The nodes of a cluster, or the sentinels: `host:port`; the first one that responds is used. Default: that of `url`. */
  readonly nodes?: readonly string[] | undefined;
  /** The server's name at the sentinels; if set, `nodes` are the sentinels. Default: none. */
  readonly sentinelName?: string | undefined;
  /** Whether `nodes` form a cluster. Default: `false`. */
  readonly cluster?: boolean | undefined;
  /** The user to log in as. Default: that of the URL. */
  readonly username?: string | undefined;
  /** The password of the user. Default: that of the URL. */
  readonly password?: string | undefined;
  /** For the sentinels. Default: none. */
  readonly sentinelUsername?: string | undefined;
  /** For the sentinels. Default: none. */
  readonly sentinelPassword?: string | undefined;
  /** The number of the database. Default: that of the URL, else 0. */
  readonly database?: number | undefined;
  /** `true`, or the options of `tls.connect`. Default: `true` if the URL starts with `rediss`. */
  readonly tls?: boolean | object | undefined;
}

/** Where a node listens. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** One node. */
export interface RedisNode extends ServerPlace, NodeAddress {}

/** A Redis server, alone or behind sentinels, or a cluster. */
export interface RedisTarget {
  /** The nodes to try in order; the first one that responds is used. Sentinels if there is a `sentinelName`. */
  readonly nodes: readonly RedisNode[];
  /** The server's name at the sentinels. */
  readonly sentinelName: string | undefined;
  readonly isCluster: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
  readonly database: number;
  /** Options of `tls.connect`; without them, no TLS. */
  readonly tls: object | undefined;
}

const DEFAULT_PORT = 6379;
const DEFAULT_SENTINEL_PORT = 26379;

export const CONNECTION_FIELDS: OptionFields<RedisConnectionOptions> = {
  url: secret(ANY_TEXT),
  nodes: secret(field((value) => isTexts(value) && value.length > 0, 'a list of one or more texts')),
  sentinelName: TEXT,
  cluster: BOOLEAN,
  username: secret(ANY_TEXT),
  password: secret(ANY_TEXT),
  sentinelUsername: secret(ANY_TEXT),
  sentinelPassword: secret(ANY_TEXT),
  database: whole(0),
  tls: TLS,
};

/** Reads the checked options of a connection. `what` names their function in messages. */
export function targetOf(options: RedisConnectionOptions, what: string): RedisTarget {
  if ((options.url === undefined) === (options.nodes === undefined))
    throw invalidConfiguration(`${what} needs either url or nodes.`, 'options');
  const url = options.url === undefined ? undefined : parseUrl(options.url);
  if (url === null)
    throw invalidConfiguration(`The url of ${what} must be like "redis://user:password@host:6379/0".`, 'options.url');
  const { sentinelName, cluster: isCluster = false, tls = url?.protocol === 'rediss:' } = options;
  const port = sentinelName === undefined ? DEFAULT_PORT : DEFAULT_SENTINEL_PORT;
  const nodes = options.nodes?.map((text, index) => {
    const node = nodeOf(text, port);
    // Without its text, which may hold a password.
    if (node === undefined)
      throw invalidConfiguration(`nodes[${index}] of ${what} must be like "host:6379".`, `options.nodes.${index}`);
    return node;
  });
  return {
    nodes: nodes ?? [nodeAt(url?.hostname || 'localhost', Number(url?.port || port))],
    sentinelName,
    isCluster,
    username: options.username ?? urlPart(url?.username),
    password: options.password ?? urlPart(url?.password),
    sentinelUsername: options.sentinelUsername,
    sentinelPassword: options.sentinelPassword,
    database: options.database ?? Number(url?.pathname.slice(1) ?? 0),
    tls: tls === false ? undefined : tls === true ? {} : tls,
  };
}

/** Names the server, without credentials. */
export function targetName({ nodes, sentinelName, database, tls }: RedisTarget): string {
  const places = nodes.map((node) => node.name).join();
  const numbered = database === 0 ? places : `${places}/${database}`;
  const at = sentinelName === undefined ? `at ${numbered}` : `${sentinelName} of the sentinels at ${numbered}`;
  // A server without TLS does not answer to it, and says nothing.
  return `Redis ${at}${tls === undefined ? '' : ' with TLS'}`;
}

/** Parses the URL; `null` if it is wrong. Messages do not show it, since it may hold a password. */
function parseUrl(text: string): URL | null {
  const url = serverUrl(text, ['redis:', 'rediss:']);
  return url !== undefined && /^(\/\d*)?$/.test(url.pathname) ? url : null;
}

function nodeOf(text: string, defaultPort: number): RedisNode | undefined {
  const found = /^(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(text);
  return found === null ? undefined : nodeAt(found[1] ?? '', Number(found[2] ?? defaultPort));
}

function nodeAt(host: string, port: number): RedisNode {
  return { name: `${host}:${port}`, host: host.replaceAll(/^\[|\]$/g, ''), port };
}
