import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../support/http.ts';
import {
  program,
  type RunningCli,
  runHere,
  runtimeDirectory,
  STAYS,
  startCli,
  temporaryDirectory,
  untilSaid,
} from './cli.ts';

/** What the commands of a test share. */
let env: NodeJS.ProcessEnv = {};

beforeEach(() => {
  env = { XDG_RUNTIME_DIR: runtimeDirectory(), TMPDIR: runtimeDirectory() };
});

const here = (...args: readonly string[]): ReturnType<typeof runHere> => runHere(args, env);

/** Says what it is asked for, and answers `/broken` with 500. */
const APP = program(`
  import { createServer } from 'node:http';
  const subscriptions = JSON.stringify([{ pubsubname: 'pubsub', topic: 'orders/new', route: '/orders' }]);
  createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    if (req.url === '/dapr/subscribe') return res.setHeader('content-type', 'application/json').end(subscriptions);
    if (req.url === '/broken') return res.writeHead(500).end('it is broken\\u001b');
    const event = req.url === '/orders' && req.method === 'POST' ? JSON.parse(body) : undefined;
    if (event !== undefined) console.log('got', JSON.stringify([event.id, event.datacontenttype, event.data]));
    res.end(req.method + ' ' + req.url + ' ' + req.headers['content-type'] + ' ' + body);
  }).listen(Number(process.env.APP_PORT), '127.0.0.1');`);

interface Started {
  readonly cli: RunningCli;
  readonly port: number;
  readonly appPort: number;
}

async function start(appId: string, ...more: readonly string[]): Promise<Started> {
  const [port, appPort] = [await freePort(), await freePort()];
  const own = ['--app-id', appId, '--http-port', String(port), '--app-port', String(appPort), '--log-json=false'];
  const cli = startCli(['run', ...own, ...more, '--', ...APP], { env });
  await untilSaid(cli.stderr, 'the application is ready');
  return { cli, port, appPort };
}

test('list prints what runs, as a table and in the names of dapr list', async () => {
  expect(await here('list')).toEqual({ code: 0, stdout: '', stderr: 'no application runs with insidecar run\n' });
  expect(await here('list', '-o', 'json')).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
  const { cli, port, appPort } = await start('orders', '--isolated');
  const { stdout } = await here('list');
  expect(stdout.split('\n')[0]).toMatch(/^APP ID +HTTP PORT +APP PORT +COMMAND +AGE +CREATED +CLI PID +APP PID$/);
  expect(stdout.split('\n')[1]).toMatch(new RegExp(`^orders +${port} +${appPort} .* ${cli.child.pid} +\\d+$`));
  const [app, ...others] = JSON.parse((await here('list', '--output', 'json')).stdout) as { appPid: number }[];
  expect(app).toMatchObject({ appId: 'orders', httpPort: port, appPort, cliPid: cli.child.pid, runTemplatePath: '' });
  expect(process.kill(app?.appPid ?? 0, 0)).toBe(true);
  expect(others).toEqual([]);
  expect(await here('list', '-o', 'yaml')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--output must be one of table, json: actual is "yaml"'),
  });
  cli.child.kill('SIGKILL');
  await cli.ended;
  expect((await here('list')).stdout).toBe('');
});

describe('publish', () => {
  test('sends JSON, text, a file and an event as an application that runs', async () => {
    const { cli } = await start('orders');
    const path = join(await temporaryDirectory(), 'order.json');
    await writeFile(path, '{"id":3}');
    const event = { id: 'e-1', source: 'me', specversion: '1.0', type: 'order', data: 4 };
    const sent: readonly (readonly [flags: readonly string[], got: string])[] = [
      [['--data', '{"id":1}', '--metadata', '{"ttlInSeconds":60}'], '"application/json",{"id":1}]'],
      [['-d', 'hällo'], '"text/plain","hällo"]'],
      [['--data-file', path], '"application/json",{"id":3}]'],
      [['-d', JSON.stringify(event)], '["e-1",'],
    ];
    for (const [flags, got] of sent) {
      const to = ['--publish-app-id', 'orders', '--pubsub', 'pubsub', '--topic', 'orders/new'];
      expect(await here('publish', ...to, ...flags)).toEqual({
        code: 0,
        stdout: 'published to orders/new of pubsub by orders\n',
        stderr: '',
      });
      await untilSaid(cli.stdout, got);
    }
    expect(await here('publish', '-p', 'nope', '-t', 'orders', '-d', '1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('orders did not publish: 404 '),
    });
  });

  test.each<[flags: readonly string[], problem: string]>([
    [['-t', 'orders', '-d', '1'], '--pubsub is missing'],
    [['-p', 'pubsub', '-d', '1'], '--topic is missing'],
    [['-p', 'pubsub', '-t', 'orders'], '--data or --data-file is missing'],
    [['-p', 'pubsub', '-t', 'orders', '-d', '1', '-f', 'x'], '--data does not go with --data-file'],
    [['-p', 'pubsub', '-t', 'orders', '-d', '1', '-m', '[1]'], '--metadata must be JSON such as {"ttlInSeconds":"60"}'],
    [['-p', 'pubsub', '-t', 'orders', '-d', '1', '-m', '{"a":{}}'], 'actual is "{\\"a\\":{}}"'],
    [['-p', 'pubsub', '-t', 'orders', 'x'], 'expected flags only: actual is "x"'],
    [['-u', '/tmp'], '-u is not supported: the HTTP API listens on a port'],
  ])('%j is a wrong command line', async (flags, problem) => {
    expect(await here('publish', ...flags)).toMatchObject({ code: 2, stderr: expect.stringContaining(problem) });
  });

  test('names the file that cannot be read', async () => {
    const { code, stderr } = await here('publish', '-p', 'pubsub', '-t', 'orders', '-f', '/nowhere/x');
    expect([code, stderr]).toEqual([1, expect.stringContaining('--data-file: "/nowhere/x" cannot be read: ENOENT')]);
  });
});

describe('invoke', () => {
  test('calls an application and prints its answer', async () => {
    await start('orders');
    const call = (...flags: readonly string[]): ReturnType<typeof runHere> => here('invoke', ...flags);
    expect(await call('--app-id', 'orders', '--method', '/add?to=a b#1', '--data', '{"a":1}')).toEqual({
      code: 0,
      stdout: 'POST /add?to=a%20b%231 application/json {"a":1}\n',
      stderr: 'orders answered 200\n',
    });
    expect((await call('-a', 'orders', '-m', 'get%2Fit', '-v', 'get')).stdout).toBe('GET /get%2Fit undefined \n');
    // The only one.
    expect((await call('-m', 'x', '-v', 'DELETE')).stdout).toBe('DELETE /x undefined \n');
    expect(await call('-m', 'broken')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'insidecar: orders answered 500: it is broken\\u001b\n',
    });
    expect(await call('-m', 'x', '-v', 'FETCH')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--verb must be a method of HTTP such as GET: actual is "FETCH"'),
    });
    expect(await call('-a', 'order', '-m', 'x')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'no application "order" runs with insidecar run: expected orders; did you mean "orders"?',
      ),
    });
    await start('billing');
    expect(await call('-m', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--app-id is missing, and several applications run: expected orders or billing'),
    });
  });

  test('reads the API token from the environment, and says what is wrong with it', async () => {
    env = { ...env, DAPR_API_TOKEN: 'a-secret' };
    await start('orders');
    expect((await here('invoke', '-m', 'x')).code).toBe(0);
    const answers = async (token?: string): Promise<string> =>
      (await runHere(['invoke', '-m', 'x'], { ...env, DAPR_API_TOKEN: token })).stderr;
    expect(await answers()).toContain('answered 401: set DAPR_API_TOKEN to its token');
    expect(await answers('another')).toMatch(/answered 401: the token in the environment is not its own\n$/);
  });
});

describe('stop', () => {
  test('ends the command of an application, all of its hosts, and what they run', async () => {
    const [one, other, third] = [await start('orders'), await start('orders'), await start('billing')];
    expect(await here('stop', '--app-id', 'orders')).toEqual({
      code: 0,
      stdout: 'stopped orders\nstopped orders\n',
      stderr: '',
    });
    await Promise.all([one.cli.ended, other.cli.ended]);
    expect(one.cli.stderr()).toContain('the command has ended by SIGTERM');
    expect(JSON.parse((await here('list', '-o', 'json')).stdout)).toMatchObject([{ appId: 'billing' }]);
    expect((await here('stop', 'billing')).stdout).toBe('stopped billing\n');
    await third.cli.ended;
    expect(await here('stop', 'billing')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no application "billing" runs with insidecar run'),
    });
  });

  test('ends a run of several applications as a whole', async () => {
    const directory = await temporaryDirectory();
    await mkdir(join(directory, 'shop'));
    const file = join(directory, 'shop', 'dapr.yaml');
    const apps = ['one', 'two'].map((appID) => ({ appID, appDirPath: '.', command: program(STAYS) }));
    await writeFile(file, JSON.stringify({ version: 1, apps }));
    const runAll = async (): Promise<RunningCli> => {
      const cli = startCli(['run', '-f', join(directory, 'shop'), '--log-json=false'], { env });
      await untilSaid(cli.stdout, /pid[\s\S]*pid/);
      return cli;
    };
    const first = await runAll();
    const { stderr, code } = await here('stop', '--app-id', 'one');
    expect(stderr).toContain(
      `process ${first.child.pid} runs two as well, and ends as a whole: insidecar stop --run-file ${file}`,
    );
    expect(code).toBe(1);
    expect((await here('stop', '-f', join(directory, 'shop'))).stdout).toBe('stopped one\nstopped two\n');
    await first.ended;
    const second = await runAll();
    expect((await here('stop', '-a', 'one', '-a', 'two')).stdout).toBe('stopped one\nstopped two\n');
    await second.ended;
    expect(await here('stop', '-f', file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no command runs the applications of'),
    });
  });

  test.each<[flags: readonly string[], problem: string]>([
    [[], 'expected --app-id ID or --run-file FILE'],
    [['x', '-f', 'y'], '--app-id does not go with --run-file'],
    [['-k'], '-k is not supported'],
  ])('%j is a wrong command line', async (flags, problem) => {
    expect(await here('stop', ...flags)).toMatchObject({ code: 2, stderr: expect.stringContaining(problem) });
  });
});
