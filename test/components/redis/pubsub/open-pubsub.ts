import { memoryState } from '../../../../src/components/memory/memory-store.ts';
import type { PubSubComponent } from '../../../../src/components/pubsub.ts';
import { loadRedis, type RedisArgument } from '../../../../src/components/redis/driver.ts';
import { type RedisPubSubOptions, redisPubSub } from '../../../../src/components/redis/index.ts';
import { systemClock } from '../../../../src/util/clock.ts';
import { RecordingLogger } from '../../../support/logger.ts';

/** Opens a component on a Redis server of this machine. */
export async function openPubSub(
  port: number,
  options: Partial<RedisPubSubOptions> = {},
  logger: RecordingLogger = new RecordingLogger(),
): Promise<PubSubComponent> {
  const place = options.nodes === undefined ? { url: `redis://127.0.0.1:${port}` } : {};
  const state = await memoryState().open({ clock: systemClock, logger });
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
