import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { postgresqlState } from '../../../src/components/postgresql/index.ts';
import { redisState } from '../../../src/components/redis/index.ts';
import { defineJob, durablePubSub, Sidecar, type SidecarOptions } from '../../../src/index.ts';
import type { StateDefinition } from '../../../src/kit/index.ts';
import { freePort } from '../../support/http.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../../support/servers.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

interface Engine {
  readonly name: string;
  readonly isThere: () => boolean;
  readonly start: () => Promise<OwnServer>;
  readonly state: (port: number) => StateDefinition;
}

const ENGINES: readonly Engine[] = [
  {
    name: 'PostgreSQL',
    isThere: hasPostgresql,
    start: () => startPostgresql(),
    state: (port) =>
      postgresqlState({
        url: `postgresql://postgres:secret@127.0.0.1:${port}/postgres`,
        operationTimeout: 2_000,
      }),
  },
  {
    name: 'Redis',
    isThere: hasRedis,
    start: () => startRedis([]),
    state: (port) => redisState({ url: `redis://127.0.0.1:${port}`, operationTimeout: 2_000 }),
  },
];

/** Of real time, in milliseconds. */
const timeOf = async (work: Promise<unknown>): Promise<number> => {
  const since = performance.now();
  await work;
  return performance.now() - since;
};

for (const { name, isThere, start, state } of ENGINES) {
  describe.runIf(isThere())(`state in ${name}, with the server down`, () => {
    let port: number;
    let logger: RecordingLogger;
    let sidecar: Sidecar;
    const make = (options: Partial<SidecarOptions> = {}): Sidecar => {
      sidecar = new Sidecar({ appId: 'shop', state: state(port), logger, ...options });
      return sidecar;
    };
    const health = (): string => {
      try {
        sidecar.health.check();
        return 'healthy';
      } catch (error) {
        return (error as Error).message;
      }
    };
    beforeEach(async () => {
      port = await freePort();
      logger = new RecordingLogger();
    });
    afterEach(() => sidecar.stop());

    test('a sidecar starts within seconds, and does all that it had to as soon as the server is there', async () => {
      const received: unknown[] = [];
      const runs: string[] = [];
      make({
        components: [durablePubSub('pubsub')],
        subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }],
        app: {
          fetch: async (request: Request) => {
            if (request.method === 'POST') received.push(((await request.json()) as { readonly data: unknown }).data);
            return new Response('{}', { status: request.url.endsWith('/orders') ? 200 : 404 });
          },
        },
      });
      await sidecar.jobs.register(
        defineJob('report', { schedule: '@every 1s' }, (_, { name: job }) => void runs.push(job)),
      );
      expect(await timeOf(sidecar.start())).toBeLessThan(5_000);
      expect(health()).toBe('sidecar is not ready: [state]');
      const error = await sidecar.jobs.get('report').catch((reason: Error) => reason.message);
      expect(error).toContain(`${name} at 127.0.0.1:${port}`);
      expect(error).toContain('cannot be reached: connect ECONNREFUSED');
      expect(error).not.toContain('secret');

      await using server = await start();
      await using _proxy = await TcpProxy.start(server.port, port);
      await vi.waitFor(() => sidecar.pubsub.publish('pubsub', 'orders', { id: 1 }), 20_000);
      await expect.poll(() => received).toEqual([{ id: 1 }]);
      await vi.waitFor(() => expect(runs.length).toBeGreaterThan(0), 10_000);
      expect(await sidecar.jobs.get('report')).toMatchObject({ schedule: '@every 1s' });
      expect(health()).toBe('healthy');
      await sidecar.stop();
    }, 60_000);

    test('a stop does not wait for the server', async () => {
      await using server = await start();
      const proxy = await TcpProxy.start(server.port, port);
      make({ components: [durablePubSub('pubsub')] });
      await sidecar.start();
      await sidecar.pubsub.subscribe('pubsub', 'orders', async () => undefined);
      await proxy[Symbol.asyncDispose]();
      await vi.waitFor(() => expect(health()).toBe('sidecar is not ready: [state]'), 10_000);
      expect(await timeOf(sidecar.stop())).toBeLessThan(5_000);
    }, 60_000);

    test('a stop hands over through a slow connection', async () => {
      await using server = await start();
      await using proxy = await TcpProxy.start(server.port, port);
      const other = new Sidecar({ appId: 'shop', state: state(server.port), logger: new RecordingLogger() });
      make();
      await sidecar.start();
      await other.start();
      proxy.delayMs = 1_500;
      await sidecar.stop();
      expect(logger.lines.filter(({ message }) => message.includes('could not be removed'))).toEqual([]);
      await other.stop();
    }, 60_000);
  });
}
