import { StateError } from '../../state/errors.ts';
import {
  type ConnectionListener,
  ConnectionLostError,
  type RemoteConnection,
  type RemoteServer,
} from '../remote/connection.ts';
import { checkDurability, type FoundDurability, type RequiredDurability } from '../remote/durability.ts';
import { firstOf, type OpenAt } from '../remote/first-of.ts';
import { Dialer, destroy } from './dialer.ts';
import { loadRedis, type RedisClient } from './driver.ts';
import { errorOf, movedTo } from './failures.ts';
import { durabilityOf, fieldOf } from './persistence.ts';
import { RedisConnection } from './redis-connection.ts';
import { CHECK_FORMAT, FORMAT } from './scripts.ts';
import { changesChannel, stateKeys } from './state-keys.ts';
import { type NodeAddress, type RedisNode, type RedisTarget, targetName } from './target.ts';

/** Redirections that a connection follows, while the nodes of a cluster disagree about who holds the keys. */
const MAX_REDIRECTS = 5;

/** A running server's description of itself. */
interface RedisDescription {
  /** Its reply to `INFO`. */
  readonly info: string;
  readonly durability: FoundDurability;
}

/** A connection to a primary. */
interface OpenedPrimary extends RedisDescription {
  readonly client: RedisClient;
}

/** The dependencies of a {@link RedisServer}. */
export interface RedisServerDeps {
  readonly target: RedisTarget;
  readonly prefix: string;
  /** The durability that is required of the server. */
  readonly durability: RequiredDurability;
  /** How long an attempt to connect may take. */
  readonly callTimeoutMs: number;
}

/** A Redis or Valkey server as the server of a store. */
export class RedisServer implements RemoteServer {
  readonly #deps: RedisServerDeps;
  readonly #dialer: Dialer;
  /** For messages, without credentials. */
  readonly name: string;
  /** Redis ends a connection that listens while 32 MiB of replies wait on it. Those of reads may be larger. */
  readonly listensOn = 'commits';

  constructor(deps: RedisServerDeps) {
    this.#deps = deps;
    this.#dialer = new Dialer({ target: deps.target, load: loadRedis });
    this.name = targetName(deps.target);
  }

  get place(): string {
    return `prefix ${this.#deps.prefix}`;
  }

  async connect(listener: ConnectionListener, listens: boolean, signal: AbortSignal): Promise<RemoteConnection> {
    const { target, prefix, callTimeoutMs } = this.#deps;
    const { nodes, isCluster } = target;
    const open: OpenAt<RedisNode, OpenedPrimary> = (node, given) => this.#openVia(node, given);
    const { client, info, durability } = await firstOf(nodes, open, signal, callTimeoutMs);
    try {
      const [keys, channel] = [this.#keys, changesChannel(prefix)];
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
    return stateKeys(this.#deps.prefix);
  }

  async #openVia(node: RedisNode, signal: AbortSignal): Promise<OpenedPrimary> {
    try {
      return await this.#openNode(await this.#dialer.addressVia(node, signal), signal, MAX_REDIRECTS);
    } catch (error) {
      throw errorOf(error, this.name);
    }
  }

  /** Connects to a node, or to the node of its cluster that holds the keys. */
  async #openNode(node: NodeAddress, signal: AbortSignal, redirects: number): Promise<OpenedPrimary> {
    const client = await this.#dialer.dial(node, signal);
    try {
      return { client, ...(await this.#check(client)) };
    } catch (error) {
      destroy(client);
      const holder = movedTo(error);
      if (holder === undefined || !this.#deps.target.isCluster || redirects === 0) throw error;
      return this.#openNode({ host: holder.host || node.host, port: holder.port }, signal, redirects - 1);
    }
  }

  /** Checks that the server is a primary with the right settings and format. */
  async #check(client: RedisClient): Promise<RedisDescription> {
    const info = String(await client.sendCommand(['INFO']));
    // A replica in a cluster names its primary below.
    if (!this.#deps.target.isCluster && fieldOf(info, 'role') !== 'master')
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
}

/** Sharded channels came with Redis 7.0; before, a cluster sends messages to all its nodes. */
function hasShardedChannels(info: string): boolean {
  return Number.parseInt(fieldOf(info, 'redis_version') ?? '', 10) >= 7;
}
