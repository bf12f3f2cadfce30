import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresqlState } from '../../src/components/postgresql/index.ts';
import { redisState } from '../../src/components/redis/index.ts';
import { defineJob, defineWorkflow, durablePubSub, Sidecar } from '../../src/index.ts';
import type { StateDefinition } from '../../src/kit/index.ts';
import { RecordingLogger } from '../support/logger.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../support/servers.ts';
import { PATIENCE, runHere, temporaryDirectory } from './cli.ts';

interface Engine {
  readonly name: string;
  readonly isThere: () => boolean;
  readonly startServer: () => Promise<OwnServer>;
  readonly url: (port: number) => string;
  readonly open: (url: string) => StateDefinition;
  /** A resource file with the component. */
  readonly file: (port: number) => string;
}

function component(type: string, metadata: Readonly<Record<string, string>>): string {
  const values = Object.entries(metadata).map(([name, value]) => ({ name, value }));
  return `apiVersion: dapr.io/v1alpha1
kind: Component
metadata: { name: store }
spec: { type: ${type}, version: v1, metadata: ${JSON.stringify(values)} }
`;
}

const ENGINES: readonly Engine[] = [
  {
    name: 'PostgreSQL',
    isThere: hasPostgresql,
    startServer: startPostgresql,
    url: (port) => `postgresql://postgres:opensesame@127.0.0.1:${port}/postgres`,
    open: (url) => postgresqlState({ url: url }),
    file: (port) =>
      component('state.postgresql', {
        connectionString: `host=127.0.0.1 port=${port} user=postgres password=opensesame dbname=postgres`,
      }),
  },
  {
    name: 'Redis',
    isThere: hasRedis,
    startServer: startRedis,
    url: (port) => `redis://127.0.0.1:${port}`,
    open: (url) => redisState({ url }),
    file: (port) => component('state.redis', { redisHost: `127.0.0.1:${port}` }),
  },
];

/** An application with jobs, a workflow, and dead letters. */
async function live(state: StateDefinition, appId: string, ran: string[]): Promise<Sidecar> {
  const sidecar = new Sidecar({ appId, state, components: [durablePubSub('events')], logger: new RecordingLogger() });
  sidecar.workflows.register(defineWorkflow('wait', async (context) => context.waitForEvent('go on')));
  sidecar.register(defineJob('*', (_, { name }) => void ran.push(name)));
  await sidecar.start();
  const options = { deadLetterTopic: 'failed', retry: { maxRetries: 0 } };
  await sidecar.pubsub.subscribe('events', 'orders', () => Promise.reject(new Error('no')), options);
  return sidecar;
}

for (const engine of ENGINES)
  describe.skipIf(!engine.isThere())(`with state on ${engine.name}`, () => {
    let server: OwnServer;
    beforeAll(async () => {
      server = await engine.startServer();
    });
    afterAll(() => server.stop());

    test('a stopped application is looked at and changed, by the URL and by a resource file', async () => {
      const url = engine.url(server.port);
      const ran: string[] = [];
      const sidecar = await live(engine.open(url), 'shop', ran);
      await sidecar.jobs.schedule('report', { schedule: '@every 100h' });
      await sidecar.workflows.start('wait', undefined, { instanceId: 'waits' });
      await sidecar.pubsub.publish('events', 'orders', 1);
      const letters = async (): Promise<number> =>
        (await sidecar.pubsub.queues.list({ topic: 'failed' }))[0]?.ready ?? 0;
      await expect.poll(letters, PATIENCE).toBe(1);
      await sidecar.stop();
      const file = join(await temporaryDirectory(), 'state.yaml');
      await writeFile(file, engine.file(server.port));
      for (const place of [url, file]) {
        const said = async (...args: readonly string[]): Promise<string> => {
          const { code, stdout, stderr } = await runHere([...args, '--state-path', place]);
          expect({ code, stderr }).toEqual({
            code: 0,
            stderr: expect.stringMatching(/^shop is stopped, state in .*\n$/),
          });
          expect(stderr).not.toContain('opensesame');
          return stdout;
        };
        expect(await said('jobs')).toContain('report');
        expect(await said('workflows')).toContain('waits');
        expect(await said('queues')).toContain('orders');
        expect(await said('dead-letters')).toContain('failed');
      }
      const { code } = await runHere(['jobs', 'run', 'report', '--state-path', file]);
      expect({ code, ran }).toEqual({ code: 0, ran: [] });
      await using again = await live(engine.open(url), 'shop', ran);
      await expect.poll(() => ran, PATIENCE).toEqual(['report']);
      await again.stop();
    }, 60_000);

    test('an application that runs is refused, and left alone; another one of the same state is not', async () => {
      const url = engine.url(server.port);
      await (await live(engine.open(url), 'stopped', [])).stop();
      await using running = await live(engine.open(url), 'runs', []);
      const { code, stdout, stderr } = await runHere(['queues', '--app-id', 'runs', '--state-path', url]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/runs runs with that state \(1 host\): ask it with --url of its inspector/);
      expect(stderr).not.toContain('opensesame');
      const other = await runHere(['queues', '--app-id', 'stopped', '--state-path', url]);
      expect(other).toMatchObject({ code: 0, stderr: expect.stringMatching(/^stopped is stopped, state in .*\n$/) });
      await running.stop();
    }, 60_000);

    test('errors do not show the password of a URL', async () => {
      const url = engine.url(server.port).replace(/\/\/.*@|\/\//, '//someone:opensesame@');
      const nowhere = url.replace(`:${server.port}`, ':1');
      const unknown = await runHere(['jobs', '--app-id', 'nobody', '--state-path', engine.url(server.port)]);
      const failed = await runHere(['jobs', '--state-path', nowhere]);
      for (const { code, stdout, stderr } of [unknown, failed]) {
        expect(code).toBe(1);
        expect(stdout + stderr).not.toContain('opensesame');
        expect(stderr).not.toBe('');
      }
    }, 60_000);
  });

test('a URL of another kind is refused with those that there are, and is not shown', async () => {
  const { code, stderr } = await runHere(['jobs', '--state-path', 'mysql://someone:opensesame@127.0.0.1/shop']);
  expect(code).toBe(2);
  expect(stderr).toContain('--state-path has a URL of mysql: expected postgresql, postgres, redis or rediss');
  expect(stderr).not.toContain('opensesame');
});
