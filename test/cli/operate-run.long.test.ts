import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { lstat, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePort, listen, send } from '../support/http.ts';
import {
  MAIN,
  PATIENCE,
  program,
  type RunningCli,
  runCli,
  runHere,
  startCli,
  temporaryDirectory,
  untilSaid,
} from './cli.ts';

/** Each starts several processes, which takes its time on a busy machine. */
const LONG = { timeout: 90_000 };

/** Fails for orders of more than 100, and takes all jobs; says what it gets. */
const SHOP = `
  import { createServer } from 'node:http';
  createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const subscriptions = [{ pubsubname: 'pubsub', topic: 'orders', route: '/orders', deadLetterTopic: 'failed' }];
    if (req.url === '/dapr/subscribe') return res.end(JSON.stringify(subscriptions));
    if (req.url.startsWith('/job/')) console.log('job', req.url);
    if (req.url === '/orders') {
      const { amount } = JSON.parse(body).data;
      console.log('order', amount);
      if (amount > 100) return res.end('{"status":"DROP"}');
    }
    res.end('{}');
  }).listen(process.env.APP_PORT, () => console.log('token', process.env.INSIDECAR_INSPECT_TOKEN));
`;

interface Shop {
  readonly cli: RunningCli;
  readonly port: number;
  /** The line that says which application a command is about. */
  readonly identity: string;
  /** Where its file is. */
  readonly runtime: string;
  readonly publish: (amount: number) => Promise<void>;
  /** Runs another command against it, in a process of its own. */
  readonly run: (...args: readonly string[]) => ReturnType<typeof runCli>;
  /** Runs another command against it in this process, which is many times faster. */
  readonly here: (...args: readonly string[]) => ReturnType<typeof runHere>;
  /** The same, whose output is JSON. */
  readonly json: (...args: readonly string[]) => Promise<unknown>;
}

/** The shop under `insidecar run --inspect`, with a free port for everything. */
async function openShop({ args = [] as readonly string[], env = {} as NodeJS.ProcessEnv } = {}): Promise<Shop> {
  const runtime = await temporaryDirectory();
  const environment = { ...env, XDG_RUNTIME_DIR: runtime, TMPDIR: runtime };
  const [port, appPort, inspectPort] = [await freePort(), await freePort(), await freePort()];
  const own = ['--app-id', 'shop', '--http-port', String(port), '--app-port', String(appPort)];
  const cli = startCli(['run', ...own, `--inspect=${inspectPort}`, ...args, '--', ...program(SHOP)], {
    env: environment,
  });
  await untilSaid(cli.stdout, /^Inspector: /m);
  await untilSaid(cli.stderr, /the application is ready/);
  const api = `http://127.0.0.1:${port}`;
  await expect.poll(async () => (await send(api, 'GET', '/v1.0/healthz')).status, PATIENCE).toBe(204);
  const identity = `shop at port ${port} (pid ${cli.child.pid}, directory ${process.cwd()})\n`;
  const here = (...given: readonly string[]): ReturnType<typeof runHere> => runHere(given, environment);
  return {
    cli,
    port,
    identity,
    runtime,
    run: (...given) => runCli(given, { env: environment }),
    here,
    json: async (...given) => {
      const { code, stdout, stderr } = await here(...given, '--json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: identity });
      return JSON.parse(stdout);
    },
    publish: async (amount) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ amount });
      expect((await send(api, 'POST', '/v1.0/publish/pubsub/orders', { headers, body })).status).toBe(204);
    },
  };
}

test(
  'queues and dead letters of a run: shown, paused, redelivered with other data, discarded, removed',
  LONG,
  async () => {
    const shop = await openShop();
    await untilSaid(shop.cli.stdout, /shop +\| token undefined/);
    for (const amount of [10, 250, 300, 400]) await shop.publish(amount);
    await expect
      .poll(async () => ((await shop.json('dead-letters')) as { messages: object[] }).messages, PATIENCE)
      .toHaveLength(3);

    const queues = await shop.run('queues');
    expect(queues.stdout).toMatch(/^TOPIC\/GROUP +READY +DELAYED +IN FLIGHT +CONSUMERS +OLDEST +STATE$/m);
    expect(queues.stdout).toMatch(/^failed\/shop +3 +0 +0 +0 .*dead letters$/m);
    expect(queues.stdout).toMatch(/^orders\/shop +0 +0 +0 +1$/m);
    expect((await shop.here('queues', 'show', 'orders')).stdout).toMatch(/^group +shop$/m);
    expect((await shop.here('queues', 'messages', 'failed/shop', '--limit', '2')).stdout).toMatch(
      /^\d+ +ready .*\{"amount":\d+\}$/m,
    );

    const { messages } = (await shop.json('dead-letters', '--from-topic', 'orders', '--since', '1h')) as {
      messages: { key: string; messageId: string; payload: { value: string } }[];
    };
    // They come in any order.
    const first = messages.find(({ payload }) => payload.value === '{"amount":250}');
    const second = messages.find(({ payload }) => payload.value === '{"amount":300}');
    const shown = await shop.here('dead-letters', 'show', first?.key ?? '');
    expect(shown.stdout).toMatch(/^from +orders\/shop$/m);
    expect(shown.stdout).toMatch(/^data +\{"amount":250\}$/m);
    const redelivered = await shop.run('dead-letters', 'redeliver', first?.key ?? '', '--data', '{"amount":25}');
    expect(redelivered.stdout).toBe('1 dead letter redelivered\n');
    await untilSaid(shop.cli.stdout, /\| order 25$/m);
    // A message ID names it as well.
    const discarded = await shop.here('dead-letters', 'discard', second?.messageId ?? '');
    expect(discarded.stdout).toBe('1 dead letter discarded\n');
    expect(await shop.here('dead-letters', 'discard', '--all')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Discard 1 dead letter of failed/shop in shop for good? Say so with --yes'),
    });
    expect((await shop.here('dead-letters', 'redeliver', '--all', '--reason', 'nobody said this')).stdout).toMatch(
      /^0 /,
    );
    expect((await shop.here('dead-letters', 'discard', '--all', '--yes')).stdout).toBe('1 dead letter discarded\n');
    expect(await shop.here('dead-letters')).toEqual({
      code: 0,
      stdout: '',
      stderr: `${shop.identity}no dead letters\n`,
    });
    expect(await shop.here('dead-letters', 'show', '99')).toMatchObject({
      code: 1,
      stderr: `${shop.identity}insidecar: there is no dead letter "99"\n`,
    });

    expect((await shop.run('queues', 'pause', 'orders')).stdout).toBe('orders/shop is paused\n');
    await shop.publish(11);
    expect((await shop.here('queues')).stdout).toMatch(/^orders\/shop +1 .* paused$/m);
    expect((await shop.here('queues', 'resume', 'orders')).stdout).toBe('orders/shop is resumed\n');
    await untilSaid(shop.cli.stdout, /\| order 11$/m);
    expect((await shop.here('queues', 'add-group', 'orders/audit/night')).stdout).toBe(
      'orders/audit/night was added\n',
    );
    await shop.publish(12);
    expect(await shop.here('queues', 'purge', 'orders')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"orders" means several queues: say which, orders/'),
    });
    expect((await shop.here('queues', 'purge', 'orders/audit/night', '-y')).stdout).toBe(
      '1 message removed from orders/audit/night\n',
    );
    expect(await shop.json('queues', 'remove-group', 'orders/audit/night', '-y')).toEqual({ changed: true });
    expect(await shop.here('queues', 'show', 'order')).toMatchObject({
      code: 1,
      stderr: `${shop.identity}insidecar: there is no queue "order"; did you mean "orders"?\n`,
    });
  },
);

test('jobs of a run: listed, run, paused, resumed, deleted', LONG, async () => {
  const shop = await openShop();
  const api = `http://127.0.0.1:${shop.port}`;
  const body = { schedule: '@every 5h', data: { to: 'board' } };
  for (const name of ['report', 'backup'])
    expect((await send(api, 'POST', `/v1.0-alpha1/jobs/${name}`, { body })).status).toBe(204);
  expect((await shop.here('jobs')).stdout).toMatch(/^backup +@every 5h +in 5h +0 +active\nreport +@every 5h/m);
  expect((await shop.here('jobs', 'list', '--prefix', 'rep')).stdout).not.toContain('backup');
  expect((await shop.run('jobs', 'run', 'report')).stdout).toBe('job "report" runs now\n');
  await untilSaid(shop.cli.stdout, /job \/job\/report/);
  expect((await shop.here('jobs', 'pause', 'report')).stdout).toBe('job "report" is paused\n');
  expect((await shop.here('jobs', 'pause', 'report')).stdout).toBe('job "report" was paused before\n');
  const shown = await shop.here('jobs', 'show', 'report');
  expect(shown.stdout).toMatch(/^state +paused$/m);
  expect(shown.stdout).toMatch(/^data +\{"to":"board"\}$/m);
  expect(await shop.json('jobs', 'resume', 'report')).toEqual({ changed: true });
  expect((await shop.run('jobs', 'delete', 'report')).stdout).toBe('job "report" is deleted\n');
  expect(await shop.here('jobs', 'delete', 'report')).toMatchObject({
    code: 1,
    stderr: `${shop.identity}insidecar: there is no job "report"\n`,
  });
  expect((await shop.here('jobs', 'pause', 'report')).code).toBe(1);
  expect(((await shop.json('jobs')) as { jobs: { name: string }[] }).jobs.map(({ name }) => name)).toEqual(['backup']);
});

test(
  'the token is in the URL that is printed, and in a file of this user; nowhere else, and gone at the end',
  LONG,
  async () => {
    const shop = await openShop({ args: ['--log-json'] });
    const [, token = ''] = /\?token=(\S+)/.exec(shop.cli.stdout()) ?? [];
    expect(token).toMatch(/^[\w-]{32}$/);
    expect(shop.cli.stdout().split(token)).toHaveLength(2);
    expect(shop.cli.stderr()).not.toContain(token);
    const [file = ''] = await readdir(join(shop.runtime, 'insidecar'));
    const path = join(shop.runtime, 'insidecar', file);
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).toContain(token);
    if (process.platform === 'linux')
      expect(readFileSync(`/proc/${shop.cli.child.pid}/cmdline`, 'utf8')).not.toContain(token);
    const queues = await shop.run('queues', '--app-id', 'shop');
    expect(queues.code).toBe(0);
    expect(queues.stdout + queues.stderr).not.toContain(token);
    shop.cli.child.kill('SIGTERM');
    await shop.cli.ended;
    expect(await readdir(join(shop.runtime, 'insidecar'))).toEqual(['identity.key', 'lock.db']);
    expect(await shop.run('queues')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Start it with insidecar run --inspect'),
    });
  },
);

test.each([
  ['http://127.0.0.1:1/?token=s3cret%0Ax', '', 'the token has characters that no token has'],
  ['http://127.0.0.1:1/', 's3cret\n', 'the token has characters that no token has'],
  ['http://ann:s3cret@127.0.0.1:1/', '', '--url takes no user name and password'],
])('a secret that cannot be sent is not printed: %j, %j', async (url, token, problem) => {
  const { code, stderr } = await runHere(['queues', '--url', url], { INSIDECAR_INSPECT_TOKEN: token });
  expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
  expect(stderr).not.toContain('s3cret');
});

test.runIf(process.platform === 'linux')('a token in --url does not stay in the list of processes', LONG, async () => {
  await using silent = await listen(() => undefined);
  const { child } = startCli(['queues', '--url', `${silent.url}/?token=s3cret`]);
  await expect.poll(() => readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'), PATIENCE).toMatch(/^insidecar/);
  expect(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')).not.toContain('s3cret');
});

test('a token that is given is not printed; with it, --url reaches the inspector', LONG, async () => {
  const token = 'a-token-of-the-operator';
  const shop = await openShop({ env: { INSIDECAR_INSPECT_TOKEN: token } });
  await untilSaid(shop.cli.stdout, /shop +\| token undefined/);
  expect(shop.cli.stdout() + shop.cli.stderr()).not.toContain(token);
  const [, url = ''] = /Inspector: (\S+)/.exec(shop.cli.stdout()) ?? [];
  const elsewhere = { XDG_RUNTIME_DIR: await temporaryDirectory(), TMPDIR: await temporaryDirectory() };
  const known = await runCli(['queues', '--url', url], { env: { ...elsewhere, INSIDECAR_INSPECT_TOKEN: token } });
  expect(known.code).toBe(0);
  expect((await runCli(['queues', '--url', url, '--token', token], { env: elsewhere })).code).toBe(0);
  const other = startCli(
    [
      'run',
      '--app-id',
      'x',
      '--http-port',
      String(await freePort()),
      '--inspect-token',
      token,
      `--inspect=${await freePort()}`,
    ],
    { env: elsewhere },
  );
  await untilSaid(other.stdout, /^Inspector: /m);
  if (process.platform === 'linux')
    expect(readFileSync(`/proc/${other.child.pid}/cmdline`, 'utf8')).not.toContain(token);
  const wrong = await runCli(['queues', '--url', url], { env: { ...elsewhere, INSIDECAR_INSPECT_TOKEN: 'other' } });
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('the token is not the right one') });
  const none = await runCli(['queues', '--url', url], { env: elsewhere });
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('set INSIDECAR_INSPECT_TOKEN') });
});

test(
  'one inspector for all applications of a file; a run and its applications are chosen by port or app ID',
  LONG,
  async () => {
    const directory = await temporaryDirectory();
    const env = { XDG_RUNTIME_DIR: directory, TMPDIR: directory };
    const ports = [await freePort(), await freePort()] as const;
    const apps = ['orders', 'billing'].map((appID, at) => ({ appID, appDirPath: '.', daprHTTPPort: ports[at] }));
    await writeFile(join(directory, 'dapr.yaml'), JSON.stringify({ version: 1, apps }));
    const several = startCli(['run', '-f', directory, `--inspect=${await freePort()}`], { env });
    const httpPort = await freePort();
    const own = ['--app-id', 'shop', '--http-port', String(httpPort), `--inspect=${await freePort()}`];
    const one = startCli(['run', ...own], { env });
    for (const { stdout } of [several, one]) await untilSaid(stdout, /^Inspector: /m);
    await expect.poll(several.stderr, PATIENCE).toMatch(/sidecar at .*\n.*sidecar at /);
    await untilSaid(one.stderr, /sidecar at /);
    for (const [port, name] of [
      [ports[0], 'a'],
      [ports[1], 'b'],
      [httpPort, 'c'],
    ] as const) {
      const body = { schedule: '@daily' };
      expect((await send(`http://127.0.0.1:${port}`, 'POST', `/v1.0-alpha1/jobs/${name}`, { body })).status).toBe(204);
    }
    const jobs = (...args: readonly string[]): ReturnType<typeof runCli> => runCli(['jobs', ...args], { env });
    const names = async (...args: readonly string[]): Promise<string[]> => {
      const { stdout } = await jobs('--json', ...args);
      return (JSON.parse(stdout) as { jobs: { name: string }[] }).jobs.map(({ name }) => name);
    };
    expect(await names('--http-port', String(ports[1]))).toEqual(['b']);
    expect(await names('--app-id', 'orders')).toEqual(['a']);
    // Its own port, not that of the first application of the run.
    expect((await jobs('--app-id', 'billing')).stderr).toContain(`billing at port ${ports[1]} (pid `);
    expect(await names('--http-port', String(httpPort))).toEqual(['c']);
    const unclear = await jobs();
    expect(unclear).toMatchObject({ code: 2, stdout: '' });
    expect(unclear.stderr).toContain('several runs have an inspector: say which');
    expect(unclear.stderr).toContain(`--app-id billing or --http-port ${ports[1]}`);
    one.child.kill('SIGTERM');
    await one.ended;
    expect(await jobs()).toMatchObject({
      code: 1,
      stderr: 'insidecar: there are several applications: say --app-id orders or billing\n',
    });
  },
);

test(
  'a port that was asked for and is taken is an error; the default one is replaced by a free one',
  LONG,
  async () => {
    await using blocker = await listen();
    const run = async (...args: readonly string[]): Promise<RunningCli> => {
      const directory = await temporaryDirectory();
      const env = { XDG_RUNTIME_DIR: directory, TMPDIR: directory };
      return startCli(['run', '--app-id', 'x', '--http-port', String(await freePort()), ...args], { env });
    };
    const refused = await run(`--inspect=${blocker.port}`);
    expect((await refused.ended)[0]).toBe(1);
    expect(refused.stderr()).toContain(`port ${blocker.port} is taken`);
    expect(refused.stderr()).toContain('another can be chosen with --inspect=PORT');
    const runs = [await run('--inspect'), await run('--inspect')];
    for (const { stdout } of runs) await untilSaid(stdout, /^Inspector: http:\/\/127\.0\.0\.1:\d+\/\?token=/m);
    expect(runs.map(({ stderr }) => stderr()).join()).toContain('port 4600 is taken');
  },
);

test('a run without --inspect has no token in its file, and loads nothing of the inspector', LONG, async () => {
  const directory = await temporaryDirectory();
  const env = { XDG_RUNTIME_DIR: directory, TMPDIR: directory, NODE_DEBUG: 'module' };
  const cli = startCli(['run', '--app-id', 'x', '--http-port', String(await freePort())], { env });
  await untilSaid(cli.stderr, /sidecar at /);
  expect(cli.stderr()).toMatch(/dist\/core\.cjs/);
  expect(cli.stderr()).not.toMatch(/dist\/(inspector|run-inspector)/);
  const file = readFileSync(join(directory, 'insidecar', `${cli.child.pid}.json`), 'utf8');
  expect(Object.keys(JSON.parse(file) as object)).toEqual(['pid', 'directory', 'startedAt', 'shares', 'apps']);
});

/** `script` runs a command on a terminal. */
const hasScript = spawnSync('script', ['--version']).status === 0;

test.skipIf(!hasScript)('on a terminal it asks; yes does it, and anything else does not', LONG, async () => {
  const shop = await openShop();
  await shop.publish(300);
  await expect.poll(async () => (await shop.here('dead-letters')).stdout, PATIENCE).toContain('orders/shop');
  const ask = async (answer: string): Promise<string> => {
    const env = {
      ...process.env,
      XDG_RUNTIME_DIR: shop.runtime,
      TMPDIR: shop.runtime,
      TERM: 'xterm',
      NODE_OPTIONS: '',
    };
    const command = `'${process.execPath}' '${MAIN}' dead-letters discard --all`;
    const child = spawn('script', ['-qec', command, '/dev/null'], { env });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
    });
    const ended = once(child, 'close');
    await expect.poll(() => said, PATIENCE).toContain('Discard 1 dead letter of failed/shop in shop for good? [y/N]');
    child.stdin.write(`${answer}\n`);
    await ended;
    return said;
  };
  expect(await ask('')).toContain('nothing was changed');
  expect(await ask('y')).toContain('1 dead letter discarded');
});
