import { freePort } from './http.ts';
import { SENTINEL_NAME, startReplica, startSentinels, untilPrimary } from './redis-groups.ts';
import { type OwnServer, startRedis } from './servers.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** A primary, a replica that gets its changes through a proxy, and three sentinels. */
export class SentinelGroup implements AsyncDisposable {
  readonly primary: OwnServer;
  readonly replica: OwnServer;
  readonly replication: TcpProxy;
  readonly sentinels: readonly OwnServer[];

  private constructor(
    [primary, replica]: readonly [OwnServer, OwnServer],
    replication: TcpProxy,
    sentinels: readonly OwnServer[],
  ) {
    this.primary = primary;
    this.replica = replica;
    this.replication = replication;
    this.sentinels = sentinels;
  }

  static async start(): Promise<SentinelGroup> {
    const primary = await startRedis();
    const replication = await TcpProxy.start(primary.port);
    const replica = await startReplica(replication.port);
    return new SentinelGroup([primary, replica], replication, await startSentinels(3, primary.port));
  }

  async failedOver(): Promise<void> {
    await untilPrimary(this.sentinels[1]?.port ?? 0, this.replica.port);
  }

  /** The connection to the primary; the first sentinel does not exist. */
  async connection(): Promise<{ readonly nodes: readonly string[]; readonly sentinelName: string }> {
    const nodes = [await freePort(), ...this.sentinels.map(({ port }) => port)].map((port) => `127.0.0.1:${port}`);
    return { nodes, sentinelName: SENTINEL_NAME };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [...this.sentinels, this.replica]) await server[Symbol.asyncDispose]();
    await this.replication[Symbol.asyncDispose]();
    await this.primary[Symbol.asyncDispose]();
  }
}
