import { StateError } from '../../state/errors.ts';
import {
  type ConnectionListener,
  ConnectionLostError,
  type RemoteConnection,
  type RemoteServer,
} from '../remote/connection.ts';
import { checkDurability, type FoundDurability, type RequiredDurability } from '../remote/durability.ts';
import { firstOf, type Place } from '../remote/first-of.ts';
import { loadRedis, type RedisClient } from './driver.ts';
import { errorOf, movedTo } from './failures.ts';
import { durabilityOf, fieldOf } from './persistence.ts';
import { destroy, RedisConnection } from './redis-connection.ts';
import { CHECK_FORMAT, FORMAT } from './scripts.ts';

/** The driver's `BLOB_STRING`: the type of texts in replies. */
const BLOB_STRING = 36;

/** Redirections that a connection follows, while the nodes of a cluster disagree about who holds the keys. */
const MAX_REDIRECTS = 5;

interface Address {
  readonly host: string;
  readonly port: number;
}

/** One node. */
export interface RedisNode extends Place, Address {}

/** What a running server says about itself. */
interface Described {
  /** Its reply to `INFO`. */
  readonly info: string;
  readonly durability: FoundDurability;
}

/** A connection to a primary. */
interface Opened extends Described {
  readonly client: RedisClient;
}

/** The dependencies of a {@link RedisServer}. */
export interface RedisServerDeps {
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
  readonly prefix: string;
  /** What the server must promise. */
  readonly durability: RequiredDurability;
}

/** A Redis or Valkey server as the server of a store. */
export class RedisServer implements RemoteServer {
  readonly #deps: RedisServerDeps;

  constructor(deps: RedisServerDeps) {
    this.#deps = deps;
  }

  get name(): string {
    const { nodes, sentinelName, database, tls } = this.#deps;
    const places = nodes.map((node) => node.name).join();
    const numbered = database === 0 ? places : `${places}/${database}`;
    const at = sentinelName === undefined ? `at ${numbered}` : `${sentinelName} of the sentinels at ${numbered}`;
    // A server without TLS does not answer to it, and says nothing.
    return `Redis ${at}${tls === undefined ? '' : ' with TLS'}`;
  }

  get place(): string {
    return `prefix ${this.#deps.prefix}`;
  }

  async connect(listener: ConnectionListener, listens: boolean, signal: AbortSignal): Promise<RemoteConnection> {
    const { nodes, isCluster, prefix } = this.#deps;
    const { client, info, durability } = await firstOf(nodes, (node, given) => this.#openVia(node, given), signal);
    try {
      const [keys, channel] = [this.#keys, `{${prefix}}:changes`];
      const isSharded = isCluster && hasShardedChannels(info);
      const serverId = fieldOf(info, 'run_id') ?? '';
      const described = { serverId, server: this.name, durability };
      const connection = new RedisConnection({ client, ...described, keys, channel, isSharded });
      const onLost = (): void => listener.onLost();
      for (const event of ['end', 'error'] as const) client.on(event, onLost);
      // Not at once: the driver is in the middle of a reply, and never ends when it is destroyed there.
      client.on('sharded-channel-moved', () => setImmediate(onLost));
      if (listens) await client[isSharded ? 'sSubscribe' : 'subscribe'](channel, listener.onMessage);
      return connection;
    } catch (error) {
      destroy(client);
      throw errorOf(error, this.name);
    }
  }

  get #keys(): readonly string[] {
    return ['meta', 'keys', 'versions', 'values', 'sessions'].map((name) => `{${this.#deps.prefix}}:${name}`);
  }

  async #openVia(node: RedisNode, signal: AbortSignal): Promise<Opened> {
    const { sentinelName } = this.#deps;
    try {
      const target = sentinelName === undefined ? node : await this.#primaryOf(sentinelName, node, signal);
      return await this.#openNode(target, signal, MAX_REDIRECTS);
    } catch (error) {
      throw errorOf(error, this.name);
    }
  }

  /** Connects to a node, or to the node of its cluster that holds the keys. */
  async #openNode(node: Address, signal: AbortSignal, redirects: number): Promise<Opened> {
    const { username, password, database, isCluster } = this.#deps;
    const client = await this.#open(node, { username, password, database }, signal);
    try {
      return { client, ...(await this.#check(client)) };
    } catch (error) {
      destroy(client);
      const holder = movedTo(error);
      if (holder === undefined || !isCluster || redirects === 0) throw error;
      return this.#openNode({ host: holder.host || node.host, port: holder.port }, signal, redirects - 1);
    }
  }

  async #open({ host, port }: Address, credentials: object, signal: AbortSignal): Promise<RedisClient> {
    const { tls } = this.#deps;
    const { createClient } = await loadRedis();
    const client = createClient({
      ...credentials,
      // No automatic reconnection: the store reconnects itself, and first resolves the outcome of the last commits.
      socket: {
        host,
        port,
        reconnectStrategy: false,
        ...(tls && { ...tls, tls: true }),
      },
      disableOfflineQueue: true,
      commandOptions: { typeMapping: { [BLOB_STRING]: Buffer } },
    });
    // Calls reject with the error; without a listener, it would end the process.
    client.on('error', () => undefined);
    signal.addEventListener('abort', () => destroy(client));
    await client.connect();
    return client;
  }

  /** Checks that the server is a primary with the right settings and format. */
  async #check(client: RedisClient): Promise<Described> {
    const info = String(await client.sendCommand(['INFO']));
    // A replica in a cluster names its primary below.
    if (!this.#deps.isCluster && fieldOf(info, 'role') !== 'master')
      throw new ConnectionLostError('the server is a replica, and only a primary takes changes');
    const policy = fieldOf(info, 'maxmemory_policy');
    if (policy !== undefined && policy !== 'noeviction')
      throw new StateError(
        'failed',
        `${this.name} has maxmemory-policy ${policy}, which would throw state away when memory is short: it must be noeviction.`,
      );
    const { text } = CHECK_FORMAT;
    const needed = Number(await client.sendCommand(['EVAL', text, '5', ...this.#keys, String(FORMAT)]));
    if (needed > FORMAT)
      throw new StateError(
        'newer-format',
        `The state in ${this.name} is of format ${needed}; this release reads ${FORMAT}. A newer release wrote it.`,
      );
    const durability = await durabilityOf(client, info);
    checkDurability(durability, this.#deps.durability, this.name);
    return { info, durability };
  }

  async #primaryOf(name: string, sentinel: RedisNode, signal: AbortSignal): Promise<Address> {
    const { sentinelUsername: username, sentinelPassword: password } = this.#deps;
    const client = await this.#open(sentinel, { username, password }, signal);
    try {
      const address = (await client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name])) as Buffer[] | null;
      if (address === null) throw new StateError('failed', `The sentinels know no server ${JSON.stringify(name)}.`);
      return { host: String(address[0]), port: Number(address[1]) };
    } finally {
      destroy(client);
    }
  }
}

/** Sharded channels came with Redis 7.0; before, a cluster sends messages to all its nodes. */
function hasShardedChannels(info: string): boolean {
  return Number.parseInt(fieldOf(info, 'redis_version') ?? '', 10) >= 7;
}
