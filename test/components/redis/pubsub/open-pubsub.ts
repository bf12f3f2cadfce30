import { memoryStore } from '../../../../src/components/memory/memory-store.ts';
import type { PubSubComponent } from '../../../../src/components/pubsub.ts';
import { loadRedis, type RedisArgument } from '../../../../src/components/redis/driver.ts';
import { type RedisPubSubOptions, redisPubSub } from '../../../../src/components/redis/index.ts';
import { systemClock } from '../../../../src/util/clock.ts';
import { RecordingLogger } from '../../../support/logger.ts';
import { hasRedis, startRedis } from '../../../support/servers.ts';

/** The port on 127.0.0.1 of a Redis that tests may use which harm nobody. */
const GIVEN = process.env['INSIDECAR_TEST_REDIS'];

/** Whether there is a Redis, or one can be started. */
export function hasSharedRedis(): boolean {
  return GIVEN !== undefined || hasRedis();
}

/** A Redis for tests that harm nobody: that of INSIDECAR_TEST_REDIS, else one of their own. */
export async function sharedRedis(): Promise<{ readonly port: number } & AsyncDisposable> {
  if (GIVEN === undefined) return startRedis();
  return { port: Number(GIVEN), [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** Opens a component on a Redis server of this machine. */
export async function openPubSub(
  port: number,
  options: Partial<RedisPubSubOptions> = {},
  logger: RecordingLogger = new RecordingLogger(),
): Promise<PubSubComponent> {
  const place = options.nodes === undefined ? { url: `redis://127.0.0.1:${port}` } : {};
  const state = await memoryStore().open({ clock: systemClock, logger });
  const context = { appId: 'orders', clock: systemClock, logger, state, track: () => () => {} };
  return redisPubSub('pubsub', { ...place, ...options }).open(context);
}

/** Sends a command over a connection of its own; texts in the reply are strings, maps are lists. */
export async function rawCommand(port: number, ...words: readonly RedisArgument[]): Promise<unknown> {
  const { createClient } = await loadRedis();
  const client = createClient({ RESP: 2, socket: { host: '127.0.0.1', port, reconnectStrategy: false } });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await client.sendCommand(words);
  } finally {
    client.destroy();
  }
}
