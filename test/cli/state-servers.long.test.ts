import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, freePort, type Listening, listen, send } from '../support/http.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../support/servers.ts';
import { PATIENCE, program, type RunningCli, runCli, startCli, temporaryDirectory, untilSaid } from './cli.ts';

const SUBSCRIPTION = `apiVersion: dapr.io/v2alpha1
kind: Subscription
metadata: { name: placed }
spec: { pubsubname: events, topic: placed, routes: { default: /placed } }
`;

function component(name: string, type: string, metadata: Readonly<Record<string, string>>): string {
  const values = Object.entries(metadata).map(([key, value]) => ({ name: key, value }));
  return `apiVersion: dapr.io/v1alpha1
kind: Component
metadata: { name: ${name} }
spec: { type: ${type}, version: v1, metadata: ${JSON.stringify(values)} }
`;
}

interface Engine {
  readonly name: string;
  readonly isThere: () => boolean;
  readonly startServer: () => Promise<OwnServer>;
  /** A state component on a server. */
  readonly state: (port: number) => string;
}

const ENGINES: readonly Engine[] = [
  {
    name: 'PostgreSQL',
    isThere: hasPostgresql,
    startServer: startPostgresql,
    state: (port) =>
      component('store', 'state.postgresql', {
        connectionString: `host=127.0.0.1 port=${port} user=postgres password=opensesame dbname=postgres`,
      }),
  },
  {
    name: 'Redis',
    isThere: hasRedis,
    startServer: startRedis,
    state: (port) => component('store', 'state.redis', { redisHost: `127.0.0.1:${port}` }),
  },
];

/** Events that an application has received, by their data. */
async function application(): Promise<{ received: string[]; server: Listening }> {
  const received: string[] = [];
  const server = await listen((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      if (req.url === '/placed') received.push(JSON.parse(Buffer.concat(chunks).toString()).data.data);
      res.end('{}');
    });
  });
  return { received, server };
}

interface Started {
  readonly cli: RunningCli;
  readonly url: string;
}

function startOrders(directory: string, ...flags: readonly string[]): Promise<Started> {
  return start('orders', directory, ...flags);
}

async function start(appId: string, directory: string, ...flags: readonly string[]): Promise<Started> {
  const port = await freePort();
  const cli = startCli(['run', '--app-id', appId, '-H', String(port), '-d', directory, ...flags], {
    cwd: directory,
  });
  await untilSaid(cli.stderr, 'sidecar at');
  return { cli, url: `http://127.0.0.1:${port}` };
}

async function publish(url: string, data: string): Promise<void> {
  const { status } = await send(url, 'POST', '/v1.0/publish/events/placed', { body: { data } });
  expect(status).toBe(204);
}

async function stop({ cli }: Started): Promise<void> {
  cli.child.kill('SIGTERM');
  expect(await cli.ended).toEqual([0, null]);
}

for (const { name, isThere, startServer, state } of ENGINES) {
  describe.skipIf(!isThere())(`state in ${name}`, () => {
    let server: OwnServer;
    beforeAll(async () => {
      server = await startServer();
    });
    afterAll(() => server[Symbol.asyncDispose]());

    async function resources(): Promise<string> {
      const directory = await temporaryDirectory();
      const events = component('events', 'pubsub.durable', {});
      await writeFile(join(directory, 'a.yaml'), [state(server.port), events, SUBSCRIPTION].join('---\n'));
      return directory;
    }

    test('a message and a job outlive the command, and two commands share the work', async () => {
      const directory = await resources();
      const alone = await startOrders(directory);
      await publish(alone.url, 'before');
      const job = await send(alone.url, 'POST', '/v1.0-alpha1/jobs/report', { body: { dueTime: '24h', data: 'x' } });
      expect(job.status).toBe(204);
      await stop(alone);
      expect(alone.cli.stderr()).toContain(`state in ${name} at 127.0.0.1:${server.port}`);
      expect(alone.cli.stderr()).not.toContain('opensesame');

      const { received, server: app } = await application();
      await using _app = app;
      const appPort = ['--app-port', String(app.port)];
      const one = await startOrders(directory, ...appPort);
      await expect.poll(() => received, PATIENCE).toEqual(['before']);
      const two = await startOrders(directory, ...appPort);
      expect((await send(two.url, 'GET', '/v1.0-alpha1/jobs/report')).status).toBe(200);
      for (const [data, { url }] of [
        ['a', one],
        ['b', two],
      ] as const)
        await publish(url, data);
      await expect.poll(() => received.toSorted(), PATIENCE).toEqual(['a', 'b', 'before']);
      await stop(one);
      await publish(two.url, 'c');
      await expect.poll(() => received, PATIENCE).toContain('c');
      await stop(two);
    }, 60_000);

    // It is the same on every engine, and takes a while.
    test.skipIf(name !== 'Redis')(
      'commands find each other at the advertised host',
      async () => {
        const directory = await resources();
        const { server: app } = await application();
        await using _app = app;
        const appPort = ['--app-port', String(app.port)];
        const orders = await startOrders(directory);
        const call = (): Promise<Answer> => send(orders.url, 'GET', '/v1.0/invoke/billing/method/x');
        const billing = await start('billing', directory, ...appPort);
        await expect.poll(async () => (await call()).status, PATIENCE).toBe(200);
        await stop(billing);
        await start('billing', directory, ...appPort, '--advertise-host', 'nowhere.invalid');
        await expect.poll(async () => (await call()).text, PATIENCE).toContain('nowhere.invalid');
      },
      60_000,
    );

    /** A multi-app file of applications that stay, each with one resource file. */
    async function runFile(ports: readonly number[], files: readonly string[]): Promise<string> {
      const directory = await temporaryDirectory();
      const apps = await Promise.all(
        files.map(async (text, index) => {
          const resourcesPath = await temporaryDirectory();
          await writeFile(join(resourcesPath, 'a.yaml'), text);
          const command = program(`console.log('up'); setInterval(() => {}, 1000);`);
          const appID = `app${index}`;
          return { appID, appDirPath: directory, resourcesPath, daprHTTPPort: ports[index], command };
        }),
      );
      const file = join(directory, 'dapr.yaml');
      await writeFile(file, JSON.stringify({ version: 1, apps }));
      return file;
    }
    const marked = (text: string): string =>
      text.replace('metadata: [', 'metadata: [{"name":"actorStateStore","value":"true"},');

    test('applications of a run have their own state stores on different servers, and one state in memory', async () => {
      await using second = await startServer();
      const ports = [await freePort(), await freePort()];
      const cli = startCli(['run', '-f', await runFile(ports, [state(server.port), state(second.port)])]);
      await expect.poll(() => cli.stdout().match(/up/g), PATIENCE).toHaveLength(2);
      const urls = ports.map((port) => `http://127.0.0.1:${port}`);
      for (const [index, url] of urls.entries()) {
        const body = [{ key: 'a', value: index }];
        expect((await send(url, 'POST', '/v1.0/state/store', { body })).status).toBe(204);
        const { components } = (await send(url, 'GET', '/v1.0/metadata')).json as {
          components: readonly { name: string; capabilities: readonly string[] }[];
        };
        const [store] = components.filter(({ name: one }) => one === 'store');
        expect(store?.capabilities).not.toContain('ACTOR');
      }
      cli.child.kill('SIGTERM');
      await cli.ended;
      expect(cli.stderr()).toContain('state in memory');
      expect(cli.stderr()).toMatch(
        /their files name several \(.*; .*\): jobs, workflows and queues are kept in memory/,
      );
      // Each value is on the server of its application, and on no other one.
      const files = [state(server.port), state(second.port)];
      const again = startCli(['run', '-f', await runFile(ports, [files[1] ?? '', files[0] ?? ''])]);
      await expect.poll(() => again.stdout().match(/up/g), PATIENCE).toHaveLength(2);
      for (const url of urls) expect((await send(url, 'GET', '/v1.0/state/store/a')).status).toBe(204);
      again.child.kill('SIGTERM');
      await again.ended;
    }, 60_000);

    test('of several servers the marked one has the state of a run; two that are marked are refused', async () => {
      const ports = [await freePort(), await freePort()];
      const cli = startCli(['run', '-f', await runFile(ports, [marked(state(server.port)), state(9)])]);
      await untilSaid(cli.stderr, `state in ${name} at 127.0.0.1:${server.port}`);
      cli.child.kill('SIGTERM');
      await cli.ended;
      const both = [marked(state(server.port)), marked(state(9))];
      const { code, stderr } = await runCli(['run', '-f', await runFile(ports, both)]);
      expect(stderr).toMatch(
        /share one state, and their files mark several \(.*; .*\): leave actorStateStore "true" to one/,
      );
      expect(code).toBe(1);
    }, 60_000);
  });
}
