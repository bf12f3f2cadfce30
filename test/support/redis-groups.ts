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
    { timeout: 10_000 },
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
    `sentinel down-after-milliseconds ${SENTINEL_NAME} 1000`,
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
