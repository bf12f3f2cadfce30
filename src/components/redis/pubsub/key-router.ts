import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../../util/logger.ts';
import type { OutageLog } from '../../outage-log.ts';
import { ConnectionLostError } from '../../remote/connection.ts';
import { firstOf } from '../../remote/first-of.ts';
import { type Dialer, destroy } from '../dialer.ts';
import type { RedisArgument, RedisClient } from '../driver.ts';
import { askedOf, errorOf, isBetweenNodes, isStale, movedTo } from '../failures.ts';
import { fieldOf } from '../persistence.ts';
import type { Script } from '../scripts.ts';
import { type NodeAddress, type RedisTarget, targetName } from '../target.ts';
import { Endpoint } from './endpoint.ts';
import { slotOf } from './slots.ts';

/** Redirections that a command follows, while the nodes of a cluster disagree about who holds a key. */
const MAX_REDIRECTS = 5;
/** The pause before a command is repeated whose keys are at two nodes, while their slot moves. */
const REPEAT_DELAY_MS = 50;

/** The dependencies of a {@link KeyRouter}. */
export interface RouterDeps {
  readonly target: RedisTarget;
  readonly dialer: Dialer;
  readonly timeoutMs: number;
  readonly logger: Logger;
  readonly outages: OutageLog;
  /** A number from 0 to 1. */
  readonly random: () => number;
  /** Called when a connection for commands has been made. */
  readonly onConnected: () => void;
}

/** Sends commands to the server, or to the node of a cluster that holds their key: one connection to each. */
export class KeyRouter {
  readonly name: string;
  readonly #deps: RouterDeps;
  /** To the server; in a cluster to any node, which knows the others. */
  readonly #first: Endpoint;
  /** The nodes of a cluster by address. */
  readonly #nodes = new Map<string, Endpoint>();
  /** The holders of slots, as far as they are known. */
  readonly #holders = new Map<number, NodeAddress>();
  /** Identifies the running server. */
  #runId: string | undefined;
  #restartedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: RouterDeps) {
    this.#deps = deps;
    this.name = targetName(deps.target);
    this.#first = this.#endpoint((signal) => this.#openFirst(signal));
  }

  /** When the server was found to be another one, or restarted, by `performance.now()`. */
  get restartedAt(): number {
    return this.#restartedAt;
  }

  /** Keys of one slot may stand in one command. Outside of clusters, all keys are of slot 0. */
  slot(key: string): number {
    return this.#deps.target.isCluster ? slotOf(key) : 0;
  }

  /** Waits for the connection for a slot, or for the failure of the next attempt. */
  ready(slot: number): Promise<RedisClient> {
    return this.#endpointOf(slot).ready();
  }

  /** Like {@link ready}, but rejects at once between two attempts. */
  async reachable(slot: number): Promise<void> {
    await this.#endpointOf(slot).reachable();
  }

  /** Why there is no connection. */
  get failure(): string | undefined {
    return this.#first.failure?.message;
  }

  /**
   * Sends a command.
   *
   * @throws ConnectionLostError when it may have been executed, or was not sent because there is no connection; other
   * errors when the server has refused it.
   */
  send(slot: number, args: readonly RedisArgument[]): Promise<unknown> {
    const endpoint = this.#endpointOf(slot);
    const { client } = endpoint;
    if (client === undefined)
      return Promise.reject(endpoint.failure ?? new ConnectionLostError(`${this.name} is not connected`));
    return client.sendCommand(args).catch((error: unknown) => {
      const retried = this.#redirected(slot, args, error);
      if (retried !== undefined) return retried;
      const failure = errorOf(error, this.name);
      if (isStale(error)) endpoint.drop(client, failure);
      throw failure;
    });
  }

  /** Runs a script, which the server may have to be sent first. */
  runScript(
    slot: number,
    { text, sha1 }: Script,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    return this.send(slot, ['EVALSHA', sha1, ...rest]).catch((error: Error) => {
      const { cause } = error;
      if (!(cause instanceof Error && cause.message.startsWith('NOSCRIPT'))) throw error;
      return this.send(slot, ['EVAL', text, ...rest]);
    });
  }

  #redirected(slot: number, args: readonly RedisArgument[], error: unknown): Promise<unknown> | undefined {
    if (!this.#deps.target.isCluster) return undefined;
    return isElsewhere(error) ? this.#follow(slot, args, error) : undefined;
  }

  /** Sends the command to the node that holds its keys now: nothing was executed where it was sent before. */
  async #follow(slot: number, args: readonly RedisArgument[], first: unknown): Promise<unknown> {
    const until = performance.now() + this.#deps.timeoutMs;
    let error = first;
    for (let redirects = 0; redirects < MAX_REDIRECTS; redirects++) {
      const holder = movedTo(error);
      if (holder !== undefined) this.moved(slot, holder);
      if (isBetweenNodes(error)) {
        if (performance.now() >= until) break;
        redirects = 0;
        await pause(REPEAT_DELAY_MS);
      }
      try {
        return await this.#sendOnce(slot, args, askedOf(error));
      } catch (next) {
        error = next;
        if (!isElsewhere(next)) break;
      }
    }
    throw errorOf(error, this.name);
  }

  /** `asked` is the node that a key is on its way to. */
  async #sendOnce(slot: number, args: readonly RedisArgument[], asked: NodeAddress | undefined): Promise<unknown> {
    if (asked === undefined) return (await this.ready(slot)).sendCommand(args);
    const client = await this.#nodeAt(asked).ready();
    const [, reply] = await Promise.all([client.sendCommand(['ASKING']), client.sendCommand(args)]);
    return reply;
  }

  /** Remembers the holder of a slot. Without a host, it is that of the node that said so. */
  moved(slot: number, { host, port }: NodeAddress): void {
    const [seed] = this.#deps.target.nodes;
    this.#holders.set(slot, { host: host || (seed?.host ?? 'localhost'), port });
  }

  /** The lowest slot of each node of a cluster, in order; outside of clusters, slot 0. */
  async slotsOfNodes(): Promise<readonly number[]> {
    if (!this.#deps.target.isCluster) return [0];
    await this.ready(0);
    const lowest = new Map<string, number>();
    for (const [from, , [host, port]] of (await this.send(0, ['CLUSTER', 'SLOTS'])) as readonly SlotRange[]) {
      const holder = { host: String(host ?? ''), port };
      this.moved(from, holder);
      const name = `${holder.host}:${port}`;
      lowest.set(name, Math.min(from, lowest.get(name) ?? from));
    }
    return [...lowest.values()].sort((one, other) => one - other);
  }

  /** Opens a connection of its own to the node of a slot. */
  async openFor(slot: number, signal: AbortSignal): Promise<RedisClient> {
    const holder = this.#holders.get(slot);
    return holder === undefined ? this.#openFirst(signal) : this.#deps.dialer.dial(holder, signal);
  }

  #endpointOf(slot: number): Endpoint {
    const holder = this.#holders.get(slot);
    return holder === undefined ? this.#first : this.#nodeAt(holder);
  }

  #nodeAt(address: NodeAddress): Endpoint {
    const name = `${address.host}:${address.port}`;
    const present = this.#nodes.get(name);
    if (present !== undefined) return present;
    const endpoint = this.#endpoint(
      (signal) => this.#deps.dialer.dial(address, signal),
      () => this.#forget(name),
    );
    this.#nodes.set(name, endpoint);
    return endpoint;
  }

  /** A node that does not answer may have been replaced: any other node knows by which. */
  #forget(name: string): void {
    void this.#nodes.get(name)?.close();
    this.#nodes.delete(name);
    for (const [slot, { host, port }] of this.#holders) if (`${host}:${port}` === name) this.#holders.delete(slot);
  }

  #endpoint(open: (signal: AbortSignal) => Promise<RedisClient>, onFailure?: () => void): Endpoint {
    const { timeoutMs, outages, random, onConnected } = this.#deps;
    const more = onFailure === undefined ? {} : { onFailure };
    return new Endpoint({ open, server: this.name, timeoutMs, outages, random, onConnected, ...more });
  }

  async #openFirst(signal: AbortSignal): Promise<RedisClient> {
    const { target, dialer } = this.#deps;
    return firstOf(
      target.nodes,
      async (node, given) => {
        try {
          const client = await dialer.dial(await dialer.addressVia(node, given), given);
          await this.#check(client);
          return client;
        } catch (error) {
          throw errorOf(error, this.name);
        }
      },
      signal,
    );
  }

  /** Checks that the server takes changes. */
  async #check(client: RedisClient): Promise<void> {
    let info: string;
    try {
      info = String(await client.sendCommand(['INFO']));
    } catch (error) {
      if (isNotAllowed(error)) return;
      destroy(client);
      throw error;
    }
    const runId = fieldOf(info, 'run_id');
    if (this.#runId !== undefined && this.#runId !== runId) this.#restartedAt = performance.now();
    this.#runId = runId;
    if (this.#deps.target.isCluster || fieldOf(info, 'role') === 'master') return this.#warnOfEviction(info);
    destroy(client);
    throw new ConnectionLostError(`${this.name} is a replica, and only a primary takes messages`);
  }

  #warnOfEviction(info: string): void {
    const policy = fieldOf(info, 'maxmemory_policy') ?? '';
    if (policy.startsWith('allkeys-') && fieldOf(info, 'maxmemory') !== '0')
      this.#deps.logger.warn(
        { server: this.name, policy },
        'the broker deletes messages when memory is short: its maxmemory-policy should be noeviction',
      );
  }

  async close(): Promise<void> {
    await Promise.all([this.#first, ...this.#nodes.values()].map((endpoint) => endpoint.close()));
  }
}

/** An element of the reply to `CLUSTER SLOTS`: the first and the last slot, the node that holds them, its replicas. */
type SlotRange = readonly [from: number, to: number, holder: readonly [host: Buffer | null, port: number]];

function isElsewhere(error: unknown): boolean {
  return movedTo(error) !== undefined || askedOf(error) !== undefined || isBetweenNodes(error);
}

function isNotAllowed(error: unknown): boolean {
  return (error as Error).message.startsWith('NOPERM');
}
