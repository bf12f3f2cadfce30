import { randomUUID } from 'node:crypto';
import { type RedisOptions, redisState } from '../../../src/components/redis/index.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { type OwnServer, startRedis } from '../../support/servers.ts';
import type { RemoteTestServer, Timeouts } from '../remote/remote-faults.ts';

/** A Redis server of a test file; each test takes a prefix of its own. */
export class RedisTestServer implements RemoteTestServer {
  readonly server: OwnServer;
  readonly logger = new RecordingLogger();

  private constructor(server: OwnServer) {
    this.server = server;
  }

  static async start(settings: readonly string[] = []): Promise<RedisTestServer> {
    return new RedisTestServer(await startRedis(settings));
  }

  newPlace(): string {
    return `test-${randomUUID().slice(0, 8)}`;
  }

  open(options: Partial<RedisOptions> = {}): Promise<StateStore> {
    const { logger } = this;
    const place = { url: `redis://127.0.0.1:${this.server.port}`, prefix: this.newPlace() };
    return redisState({ ...place, ...options }).open({ clock: systemClock, logger });
  }

  openAt(place: string, port: number, timeouts: Timeouts = {}): Promise<StateStore> {
    return this.open({ url: `redis://127.0.0.1:${port}`, prefix: place, ...timeouts });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]();
  }
}
