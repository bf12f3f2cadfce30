import { randomUUID } from 'node:crypto';
import { loadRedis } from '../../../src/components/redis/driver.ts';
import { redisState } from '../../../src/components/redis/index.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasRedis, startRedis } from '../../support/servers.ts';

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

/** State on a Redis for tests that harm nobody, each under a prefix of its own. */
export class SharedRedisState implements AsyncDisposable {
  readonly #server: Awaited<ReturnType<typeof sharedRedis>>;
  readonly #prefixes: string[] = [];

  private constructor(server: Awaited<ReturnType<typeof sharedRedis>>) {
    this.#server = server;
  }

  static async start(): Promise<SharedRedisState> {
    return new SharedRedisState(await sharedRedis());
  }

  newPlace(): string {
    const prefix = `insidecar-test-${randomUUID()}`;
    this.#prefixes.push(prefix);
    return prefix;
  }

  open(prefix: string = this.newPlace()): Promise<StateStore> {
    const context = { clock: systemClock, logger: new RecordingLogger() };
    return redisState({ url: this.#url, prefix }).open(context);
  }

  get #url(): string {
    return `redis://127.0.0.1:${this.#server.port}`;
  }

  /** Deletes what the tests have made, and nothing else. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { createClient } = await loadRedis();
    const client = createClient({ url: this.#url });
    await client.connect();
    for (const prefix of this.#prefixes) {
      const keys = (await client.sendCommand(['KEYS', `{${prefix}}*`])) as string[];
      if (keys.length > 0) await client.sendCommand(['DEL', ...keys]);
    }
    client.destroy();
    await this.#server[Symbol.asyncDispose]();
  }
}
