import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { loadRedis, type RedisArgument } from '../../src/components/redis/driver.ts';
import { freePort } from './http.ts';
import { type OwnServer, runRedis, startRedis } from './servers.ts';

/** The name of the server at the sentinels. */
export const SENTINEL_NAME = 'main';

/** Sends commands to a Redis server of the tests, one after the other; returns the last reply. */
export async function redisCommand(port: number, ...commands: readonly (readonly RedisArgument[])[]): Promise<unknown> {
  const { createClient } = await loadRedis();
  const client = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false } });
  client.on('error', () => undefined);
  await client.connect();
  try {
    let reply: unknown;
    for (const command of commands) reply = await client.sendCommand(command);
    return reply;
  } finally {
    client.destroy();
  }
}

/** Starts a replica that gets its changes from a port, and waits until it has them. */
export async function startReplica(primaryPort: number): Promise<OwnServer> {
  const replica = await startRedis([
    '--replicaof',
    '127.0.0.1',
    String(primaryPort),
    '--repl-diskless-sync-delay',
    '0',
  ]);
  await vi.waitFor(
    async () => expect(await redisCommand(replica.port, ['INFO', 'replication'])).toContain('master_link_status:up'),
    { timeout: 30_000 },
  );
  return replica;
}

/** Starts sentinels that watch over a primary with one replica, and waits until they know it and each other. */
export async function startSentinels(count: number, primaryPort: number): Promise<readonly OwnServer[]> {
  const sentinels = await Promise.all(
    Array.from({ length: count }, () => startSentinel(primaryPort, Math.floor(count / 2) + 1)),
  );
  for (const { port } of sentinels)
    await vi.waitFor(
      async () => {
        const info = String(await redisCommand(port, ['INFO', 'sentinel']));
        expect(info).toContain(`slaves=1,sentinels=${count}`);
      },
      { timeout: 20_000 },
    );
  return sentinels;
}

async function startSentinel(primaryPort: number, quorum: number): Promise<OwnServer> {
  const directory = await mkdtemp('/tmp/insidecar-sentinel-');
  const port = await freePort();
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${directory}`,
    `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${primaryPort} ${quorum}`,
    // A primary that answers late on a busy machine is not down.
    `sentinel down-after-milliseconds ${SENTINEL_NAME} 3000`,
    `sentinel failover-timeout ${SENTINEL_NAME} 4000`,
  ];
  const file = join(directory, 'sentinel.conf');
  await writeFile(file, `${settings.join('\n')}\n`);
  return runRedis(port, directory, [file, '--sentinel'], '+monitor');
}

/** Waits until the sentinels have made another server the primary. */
export async function untilPrimary(sentinelPort: number, port: number): Promise<void> {
  await vi.waitFor(
    async () => {
      const address = await redisCommand(sentinelPort, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', SENTINEL_NAME]);
      expect(String((address as Buffer[])[1])).toBe(String(port));
    },
    { timeout: 30_000, interval: 100 },
  );
}

const SLOTS = 16_384;

/** Starts a cluster of three primaries, which have a third of the slots each. */
export async function startCluster(): Promise<readonly OwnServer[]> {
  const nodes = await Promise.all([0, 1, 2].map(() => startClusterNode()));
  const bounds = nodes.map((_node, index) => Math.floor((index * SLOTS) / nodes.length));
  for (const [index, node] of nodes.entries())
    await redisCommand(
      node.port,
      ['CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1)],
      ['CLUSTER', 'ADDSLOTSRANGE', String(bounds[index]), String((bounds[index + 1] ?? SLOTS) - 1)],
    );
  for (const node of nodes.slice(1)) await joinCluster(node, nodes[0]);
  for (const node of nodes) await untilInfo(node, ['CLUSTER', 'INFO'], /cluster_state:ok[\s\S]*cluster_known_nodes:3/);
  return nodes;
}

/** Starts a node that replicates another one. */
export async function startClusterReplica(primary: OwnServer): Promise<OwnServer> {
  const replica = await startClusterNode();
  await joinCluster(replica, primary);
  const id = await nodeId(primary);
  await untilInfo(replica, ['CLUSTER', 'NODES'], new RegExp(`${id} .* connected `));
  await redisCommand(replica.port, ['CLUSTER', 'REPLICATE', id]);
  await untilInfo(replica, ['INFO', 'replication'], /master_link_status:up/);
  return replica;
}

async function startClusterNode(): Promise<OwnServer> {
  const busPort = String(await freePort());
  return startRedis(['--cluster-enabled', 'yes', '--cluster-port', busPort, '--cluster-node-timeout', '2000']);
}

async function joinCluster(node: OwnServer, member: OwnServer | undefined): Promise<void> {
  const port = member?.port ?? 0;
  const nodes = String(await redisCommand(port, ['CLUSTER', 'NODES']));
  const busPort = /@(\d+)\S* myself/.exec(nodes)?.[1] ?? '';
  await redisCommand(node.port, ['CLUSTER', 'MEET', '127.0.0.1', String(port), busPort]);
}

async function nodeId({ port }: OwnServer): Promise<string> {
  return String(await redisCommand(port, ['CLUSTER', 'MYID']));
}

async function untilInfo({ port }: OwnServer, command: readonly string[], expected: RegExp): Promise<void> {
  await vi.waitFor(async () => expect(String(await redisCommand(port, command))).toMatch(expected), {
    timeout: 40_000,
    interval: 100,
  });
}

/** The node of a cluster that holds the keys of a prefix. */
export async function holderOf(nodes: readonly OwnServer[], prefix: string): Promise<OwnServer> {
  for (const node of nodes) {
    const slot = await slotOf(node, prefix);
    const held = String(await redisCommand(node.port, ['CLUSTER', 'NODES']));
    const [, from, to] = /myself.* connected (\d+)-(\d+)/.exec(held) ?? [];
    if (slot >= Number(from) && slot <= Number(to)) return node;
  }
  throw new Error(`no node holds ${prefix}`);
}

async function slotOf({ port }: OwnServer, prefix: string): Promise<number> {
  return Number(await redisCommand(port, ['CLUSTER', 'KEYSLOT', prefix]));
}

/**
 * Moves the slot of a prefix to another node, with its keys.
 *
 * @param between - called when the keys are there, and the slot is not yet
 */
export async function moveSlot(
  from: OwnServer,
  to: OwnServer,
  prefix: string,
  between?: () => Promise<unknown>,
): Promise<void> {
  const slot = String(await slotOf(from, prefix));
  const [source, target] = [await nodeId(from), await nodeId(to)];
  await redisCommand(to.port, ['CLUSTER', 'SETSLOT', slot, 'IMPORTING', source]);
  await redisCommand(from.port, ['CLUSTER', 'SETSLOT', slot, 'MIGRATING', target]);
  for (;;) {
    const keys = (await redisCommand(from.port, ['CLUSTER', 'GETKEYSINSLOT', slot, '100'])) as Buffer[];
    if (keys.length === 0) break;
    await redisCommand(from.port, ['MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...keys]);
  }
  await between?.();
  for (const { port } of [to, from]) await redisCommand(port, ['CLUSTER', 'SETSLOT', slot, 'NODE', target]);
}
