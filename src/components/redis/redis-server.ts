import { StateError } from '../../state/errors.ts';
import {
  type ConnectionListener,
  ConnectionLostError,
  type RemoteConnection,
  type RemoteServer,
} from '../remote/connection.ts';
import { loadRedis, type RedisClient } from './driver.ts';
import { errorOf, movedTo } from './failures.ts';
import { destroy, RedisConnection } from './redis-connection.ts';
import { CHECK_FORMAT, FORMAT } from './scripts.ts';

/** The driver's `BLOB_STRING`: the type of texts in replies. */
const BLOB_STRING = 36;

/** One node. */
export interface RedisNode {
  readonly host: string;
  readonly port: number;
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
  readonly connectTimeoutMs: number;
}

/** A Redis or Valkey server as the server of a store. */
export class RedisServer implements RemoteServer {
  readonly #deps: RedisServerDeps;

  constructor(deps: RedisServerDeps) {
    this.#deps = deps;
  }

  get name(): string {
    const { nodes, sentinelName } = this.#deps;
    const places = nodes.map(({ host, port }) => `${host}:${port}`).join();
    return sentinelName === undefined ? `Redis at ${places}` : `Redis ${sentinelName} of the sentinels at ${places}`;
  }

  get place(): string {
    return this.#deps.prefix;
  }

  async connect(listener: ConnectionListener, listens: boolean): Promise<RemoteConnection> {
    const { sentinelName, nodes, isCluster } = this.#deps;
    const candidates = sentinelName === undefined ? nodes : [await this.#primaryOf(sentinelName)];
    const client = await this.#firstOf(candidates, (node) => this.#openNode(node));
    try {
      const [keys, channel] = [this.#keys, `{${this.#deps.prefix}}:changes`];
      const connection = new RedisConnection({ client, server: this.name, keys, channel, isCluster });
      client.on('end', () => listener.onLost(new Error('the connection was closed')));
      client.on('error', (error) => listener.onLost(error ?? new Error('the connection was closed')));
      if (listens) await client[isCluster ? 'sSubscribe' : 'subscribe'](channel, listener.onMessage);
      return connection;
    } catch (error) {
      destroy(client);
      throw errorOf(error, this.name);
    }
  }

  get #keys(): readonly string[] {
    return ['meta', 'keys', 'versions', 'values', 'sessions'].map((name) => `{${this.#deps.prefix}}:${name}`);
  }

  /** Tries the nodes in order until `work` succeeds. A node that refuses the credentials ends the search. */
  async #firstOf<T>(nodes: readonly RedisNode[], work: (node: RedisNode) => Promise<T>): Promise<T> {
    let last: unknown = new ConnectionLostError(`${this.name} has no nodes`);
    for (const node of nodes) {
      try {
        return await work(node);
      } catch (error) {
        last = errorOf(error, this.name);
        if (last instanceof StateError) break;
      }
    }
    throw last;
  }

  /** Connects to a node, or to the node of its cluster that holds the keys. */
  async #openNode(node: RedisNode): Promise<RedisClient> {
    const { username, password, database } = this.#deps;
    const client = await this.#open(node, { username, password, database });
    try {
      await this.#check(client);
      return client;
    } catch (error) {
      destroy(client);
      const holder = movedTo(error);
      if (holder === undefined || !this.#deps.isCluster) throw error;
      return this.#openNode({ host: holder.host || node.host, port: holder.port });
    }
  }

  async #open({ host, port }: RedisNode, credentials: object): Promise<RedisClient> {
    const { tls, connectTimeoutMs } = this.#deps;
    const { createClient } = await loadRedis();
    const client = createClient({
      ...credentials,
      // No automatic reconnection: the store reconnects itself, and first resolves the outcome of the last commits.
      socket: {
        host,
        port,
        connectTimeout: connectTimeoutMs,
        reconnectStrategy: false,
        ...(tls && { ...tls, tls: true }),
      },
      disableOfflineQueue: true,
      commandOptions: { typeMapping: { [BLOB_STRING]: Buffer } },
    });
    // Calls reject with the error; without a listener, it would end the process.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  async #check(client: RedisClient): Promise<void> {
    const info = String(await client.sendCommand(['INFO']));
    if (fieldOf(info, 'role') !== 'master')
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
  }

  async #primaryOf(name: string): Promise<RedisNode> {
    const { nodes, sentinelUsername: username, sentinelPassword: password } = this.#deps;
    return this.#firstOf(nodes, async (sentinel) => {
      const client = await this.#open(sentinel, { username, password });
      try {
        const address = (await client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name])) as Buffer[] | null;
        if (address === null) throw new StateError('failed', `The sentinels know no server ${JSON.stringify(name)}.`);
        return { host: String(address[0]), port: Number(address[1]) };
      } finally {
        destroy(client);
      }
    });
  }
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
