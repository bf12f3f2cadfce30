import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { freePort, listen, send } from '../support/http.ts';
import { isRunning, PATIENCE, program, runCli, startCli, temporaryDirectory, untilSaid } from './cli.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/multi-app/', import.meta.url));

interface App {
  readonly appID: string;
  readonly code: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A multi-app file of Node programs in a directory of its own. YAML is a superset of JSON. */
async function runFile(apps: readonly App[], common: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const directory = await temporaryDirectory();
  const entries = apps.map(({ appID, code, fields }) => ({
    appID,
    appDirPath: '.',
    command: program(code),
    ...fields,
  }));
  const file = join(directory, 'dapr.yaml');
  await writeFile(file, JSON.stringify({ version: 1, common, apps: entries }));
  return file;
}

const STAYS = `console.log('pid', process.pid); setInterval(() => {}, 1000);`;
const pidsIn = (text: string): number[] => [...text.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));

test('a Node and a Python application exchange messages and calls, their sidecars in one process', async () => {
  const directory = await temporaryDirectory();
  await cp(EXAMPLE, directory, { recursive: true });
  let file = await readFile(join(EXAMPLE, 'dapr.yaml'), 'utf8');
  // Digits of one port may be the end of another one.
  for (const port of ['6001', '6002', '3601', '3602'])
    file = file.replace(new RegExp(`\\b${port}\\b`), String(await freePort()));
  await writeFile(join(directory, 'dapr.yaml'), file);

  const { code, stdout } = await runCli(['run', '-f', directory, '--stop-when', 'any']);

  const linesOf = (app: string): string[] => stdout.split('\n').filter((line) => line.startsWith(app));
  expect(linesOf('shop')).toEqual([
    'shop      | order 1: a kettle for 39 euros',
    'shop      | order 1: shipped by van',
    'shop      | order 2: a teapot for 25 euros',
    'shop      | order 2: shipped by van',
  ]);
  expect(linesOf('warehouse')).toEqual([
    'warehouse | shop asks for the price of a kettle',
    'warehouse | shipping order 1',
    'warehouse | shop asks for the price of a teapot',
    'warehouse | shipping order 2',
  ]);
  expect(code).toBe(0);
});

test('each application gets its own environment, and a free port for its sidecar', async () => {
  const say = 'console.log(process.env.APP_ID, process.env.DAPR_HTTP_PORT, process.env.SHARED, process.env.OWN)';
  const file = await runFile(
    [
      { appID: 'one', code: say, fields: { env: { OWN: 'own' } } },
      { appID: 'two', code: say },
    ],
    { env: { SHARED: true } },
  );
  const { code, stdout } = await runCli(['run', '--run-file', file, '--stop-when', 'all']);
  const [, one] = /one {7}\| one (\d+) true own\n/.exec(stdout) ?? [];
  const [, two] = /two {7}\| two (\d+) true undefined\n/.exec(stdout) ?? [];
  expect(Number(one)).toBeGreaterThan(0);
  expect(Number(two)).toBeGreaterThan(0);
  expect(one).not.toBe(two);
  expect(code).toBe(0);
});

test('an application that fails ends the others; its exit code counts', async () => {
  const waiting = `
    import { writeFileSync } from 'node:fs';
    process.on('SIGTERM', () => { console.log('stopped'); process.exit(0); });
    setInterval(() => {}, 1000);
    writeFileSync('ready', '');`;
  const failing = `
    import { existsSync } from 'node:fs';
    setInterval(() => existsSync('ready') && process.exit(5), 20);`;
  const file = await runFile([
    { appID: 'stays', code: waiting },
    { appID: 'fails', code: failing },
  ]);
  const { code, stdout, stderr } = await runCli(['run', '-f', file, '--log-json=false']);
  expect(stderr).toContain('the command has ended with exit code 5');
  expect(stdout).toContain('stays     | stopped');
  expect(code).toBe(5);
});

test('one that has done its work leaves the others running', async () => {
  const file = await runFile([
    { appID: 'stays', code: STAYS },
    { appID: 'done', code: '' },
  ]);
  const cli = startCli(['run', '-f', file, '--log-json=false']);
  await untilSaid(cli.stderr, /done.*the command has ended with exit code 0/);
  await untilSaid(cli.stdout, 'pid');
  expect(pidsIn(cli.stdout()).map(isRunning)).toEqual([true]);
  cli.child.kill('SIGINT');
  await cli.ended;
  expect(pidsIn(cli.stdout()).map(isRunning)).toEqual([false]);
});

test('--stop-when any: the first that ends ends the run', async () => {
  const file = await runFile([
    { appID: 'stays', code: STAYS },
    { appID: 'done', code: '' },
  ]);
  expect((await runCli(['run', '-f', file, '--stop-when', 'any'])).code).toBe(0);
});

test('--stop-when all: the run ends with the last, and fails when one has failed', async () => {
  const file = await runFile([
    { appID: 'fails', code: 'process.exit(3)' },
    { appID: 'later', code: `setTimeout(() => console.log('later'), 700)` },
  ]);
  const { code, stdout } = await runCli(['run', '-f', file, '--stop-when', 'all']);
  expect(stdout).toContain('later     | later');
  expect(code).toBe(3);
});

test('kill -9 of the run leaves no application', async () => {
  const file = await runFile([
    { appID: 'one', code: STAYS },
    { appID: 'two', code: STAYS },
  ]);
  const cli = startCli(['run', '-f', file]);
  await expect.poll(() => pidsIn(cli.stdout()).length, PATIENCE).toBe(2);
  const pids = pidsIn(cli.stdout());
  expect(pids.map(isRunning)).toEqual([true, true]);
  cli.child.kill('SIGKILL');
  await expect.poll(() => pids.map(isRunning), PATIENCE).toEqual([false, false]);
});

test('nothing is started when one port is taken', async () => {
  await using server = await listen(() => undefined);
  const { port } = server;
  const file = await runFile([
    { appID: 'one', code: `console.log('one started')` },
    { appID: 'two', code: `console.log('two started')`, fields: { daprHTTPPort: port } },
  ]);
  const { code, stdout, stderr } = await runCli(['run', '-f', file]);
  expect(stderr).toContain(`port ${port} is taken`);
  expect(stdout).toBe('');
  expect(code).toBe(1);
});

test('messages between applications survive a restart with --state-path', async () => {
  const state = await temporaryDirectory();
  const [httpPort, appPort] = [await freePort(), await freePort()];
  const receiver = (status: number): App => ({
    appID: 'receiver',
    fields: { appPort },
    code: `
      import { createServer } from 'node:http';
      createServer((req, res) => {
        if (req.url === '/dapr/subscribe') return res.end('[{"pubsubname":"pubsub","topic":"orders","route":"/orders"}]');
        if (req.method === 'GET') return res.writeHead(404).end();
        let body = '';
        req.on('data', (part) => { body += part; });
        req.on('end', () => { console.log('received ' + JSON.parse(body).data + ', answering ${status}'); res.writeHead(${status}).end(); });
      }).listen(${appPort}, '127.0.0.1')`,
  });
  const sender: App = { appID: 'sender', fields: { daprHTTPPort: httpPort }, code: STAYS };
  const first = startCli(['run', '-f', await runFile([sender, receiver(503)]), '--state-path', state]);
  await untilSaid(first.stderr, 'the application is ready');
  const publish = { headers: { 'content-type': 'text/plain' }, body: 'order 1' };
  const answer = await send(`http://127.0.0.1:${httpPort}`, 'POST', '/v1.0/publish/pubsub/orders', publish);
  expect(answer.status).toBe(204);
  await untilSaid(first.stdout, 'receiver  | received order 1, answering 503');
  first.child.kill('SIGTERM');
  await first.ended;
  const second = startCli(['run', '-f', await runFile([sender, receiver(200)]), '--state-path', state]);
  await untilSaid(second.stdout, 'receiver  | received order 1, answering 200');
});

test('a component of the same name is the same broker, whichever files define it', async () => {
  const appPort = await freePort();
  const receiver = `
    import { createServer } from 'node:http';
    createServer((req, res) => {
      if (req.url === '/dapr/subscribe') return res.end('[{"pubsubname":"mine","topic":"t","route":"/t"}]');
      if (req.method === 'GET') return res.writeHead(404).end();
      let body = '';
      req.on('data', (part) => { body += part; });
      req.on('end', () => { res.end(); console.log('received ' + JSON.parse(body).data); process.exit(0); });
    }).listen(${appPort}, '127.0.0.1')`;
  const sender = `
    const url = 'http://127.0.0.1:' + process.env.DAPR_HTTP_PORT + '/v1.0/publish/mine/t';
    setInterval(() => fetch(url, { method: 'POST', body: 'hello', headers: { 'content-type': 'text/plain' } }), 50)`;
  const file = await runFile([
    { appID: 'receiver', code: receiver, fields: { appPort, resourcesPaths: 'one' } },
    { appID: 'sender', code: sender, fields: { resourcesPaths: 'two' } },
  ]);
  for (const name of ['one', 'two']) {
    await mkdir(join(file, '..', name));
    const component = { apiVersion: 'dapr.io/v1alpha1', kind: 'Component', metadata: { name: 'mine' } };
    const spec = { type: 'pubsub.in-memory', version: 'v1' };
    await writeFile(join(file, '..', name, 'pubsub.yaml'), JSON.stringify({ ...component, spec }));
  }
  const { code, stdout } = await runCli(['run', '-f', file, '--stop-when', 'any']);
  expect(stdout).toContain('receiver  | received hello');
  expect(code).toBe(0);
});
