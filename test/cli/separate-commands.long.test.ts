import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { sendCurl } from '../support/curl.ts';
import { freePort, send } from '../support/http.ts';
import {
  PATIENCE,
  program,
  type RunningCli,
  runCli,
  runtimeDirectory,
  startCli,
  temporaryDirectory,
  untilSaid,
} from './cli.ts';

/*
 * Programs in the shape of Dapr's quickstarts and tutorials, each started by a command of its own, with nothing
 * configured.
 */

/** What the commands of a test share. */
let env: NodeJS.ProcessEnv = {};

beforeEach(() => {
  env = { XDG_RUNTIME_DIR: runtimeDirectory(), TMPDIR: runtimeDirectory() };
});

/** Subscribes to `orders` of a component, and answers calls of its methods. */
const app = (pubsubname = 'pubsub', methods = ''): readonly string[] =>
  program(`
    import { createServer } from 'node:http';
    const subscriptions = JSON.stringify([{ pubsubname: '${pubsubname}', topic: 'orders', route: '/orders' }]);
    createServer(async (req, res) => {
      let body = '';
      for await (const chunk of req) body += chunk;
      res.setHeader('content-type', 'application/json');
      if (req.url === '/dapr/subscribe') return res.end(subscriptions);
      if (req.url === '/orders' && req.method === 'POST') {
        console.log('got', JSON.stringify(JSON.parse(body).data));
        return res.end('{}');
      }
      if (req.url === '/who') return res.end(JSON.stringify(process.env.DAPR_HTTP_PORT));
      ${methods}
      res.writeHead(404).end();
    }).listen(Number(process.env.APP_PORT), '127.0.0.1');`);

const CREATE_SERVER = `const { createServer } = require('node:http');`;

interface Run {
  readonly cli: RunningCli;
  readonly port: number;
  /** The data of the messages that the application got, in order. */
  readonly got: () => unknown[];
}

/** Starts a command and waits until its sidecar, and its application if it listens, is ready. */
async function run(appId: string, command?: readonly string[], ...more: readonly string[]): Promise<Run> {
  const port = await freePort();
  const appPort = command === undefined ? [] : ['--app-port', String(await freePort())];
  const flags = ['--app-id', appId, '--http-port', String(port), '--log-json=false', ...appPort, ...more];
  const cli = startCli(['run', ...flags, ...(command === undefined ? [] : ['--', ...command])], { env });
  await untilSaid(cli.stderr, command === undefined ? 'sidecar at' : 'the application is ready');
  const got = (): unknown[] =>
    [...cli.stdout().matchAll(/got (.*)\n/g)].map(([, text = '']) => JSON.parse(text) as unknown);
  return { cli, port, got };
}

/** A request to the sidecar of a run, which must succeed. */
async function ask({ port }: Run, method: string, path: string, body?: unknown): Promise<string> {
  const sent =
    body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const { status, text } = await send(`http://127.0.0.1:${port}`, method, path, sent);
  expect(status, `${path}: ${text}`).toBeLessThan(300);
  return text;
}

const publish = (to: Run, data: unknown, pubsub = 'pubsub'): Promise<string> =>
  ask(to, 'POST', `/v1.0/publish/${pubsub}/orders`, data);

async function stop({ cli }: Run): Promise<void> {
  cli.child.kill('SIGTERM');
  await cli.ended;
}

/** The directory of what the commands share. */
const sharedIn = (): string => join(env['XDG_RUNTIME_DIR'] ?? '', 'insidecar');
const namesThere = (): string[] =>
  readdirSync(sharedIn()).filter((name) => name !== 'lock.db' && name !== 'identity.key');

describe('two commands', () => {
  test('publish, call each other and share state; the second goes on when the first is killed', async () => {
    const first = await run('checkout');
    expect(first.cli.stderr()).toContain('shared with the other commands of this user, until the last one ends');
    const second = await run('order-processor', app());
    await publish(first, { orderId: 1 });
    await expect.poll(second.got, PATIENCE).toEqual([{ orderId: 1 }]);
    expect(await ask(first, 'GET', '/v1.0/invoke/order-processor/method/who')).toBe(
      JSON.stringify(String(second.port)),
    );
    await ask(first, 'POST', '/v1.0/state/statestore', [{ key: 'order', value: 1 }]);

    // It holds the directory.
    first.cli.child.kill('SIGKILL');
    await publish(second, { orderId: 2 });
    await expect.poll(second.got, PATIENCE).toEqual([{ orderId: 1 }, { orderId: 2 }]);
    const again = await run('checkout');
    expect(await ask(again, 'GET', '/v1.0/state/statestore/order')).toBe('1');
    await publish(again, { orderId: 3 });
    await expect.poll(second.got, PATIENCE).toEqual([{ orderId: 1 }, { orderId: 2 }, { orderId: 3 }]);
  });

  test('lose nothing that was acknowledged when the one that holds the state is killed', async () => {
    const [holder, other] = [await run('checkout'), await run('order-processor')];
    const saved: string[] = [];
    const save = async (to: Run, writer: number): Promise<void> => {
      for (let number = 0; ; number++) {
        const key = `${to.port}-${writer}-${number}`;
        const body = JSON.stringify([{ key, value: number }]);
        const headers = { 'content-type': 'application/json' };
        const sent = send(`http://127.0.0.1:${to.port}`, 'POST', '/v1.0/state/statestore', { headers, body });
        const { status } = await sent.catch(() => ({ status: 0 }));
        if (status !== 204) return;
        saved.push(key);
      }
    };
    const saving = Array.from({ length: 4 }, (_, writer) => save(holder, writer));
    await expect.poll(() => saved.length, PATIENCE).toBeGreaterThan(100);
    holder.cli.child.kill('SIGKILL');
    await Promise.all(saving);
    const again = await run('checkout');
    const read = JSON.stringify({ keys: saved, parallelism: 10 });
    const headers = { 'content-type': 'application/json' };
    const answer = await send(`http://127.0.0.1:${again.port}`, 'POST', '/v1.0/state/statestore/bulk', {
      headers,
      body: read,
    });
    const found = JSON.parse(answer.text) as { key: string; data?: unknown }[];
    expect(found.filter(({ data }) => data === undefined)).toEqual([]);
    expect(found).toHaveLength(saved.length);
    expect(other.cli.child.exitCode).toBeNull();
  });

  test('started in the wrong order: the subscriber gets what was published before', async () => {
    const first = await run('checkout');
    for (let orderId = 1; orderId <= 5; orderId++) await publish(first, { orderId });
    const second = await run('order-processor', app());
    const ids = (): unknown[] => second.got().map((order) => (order as { orderId: number }).orderId);
    await expect.poll(ids, PATIENCE).toEqual([1, 2, 3, 4, 5]);
  });

  test('with one app ID are hosts of one application: each message goes to one of them, calls to both', async () => {
    const [one, other, caller] = [await run('worker', app()), await run('worker', app()), await run('caller')];
    for (let orderId = 0; orderId < 40; orderId++) await publish(caller, orderId);
    const all = (): unknown[] => [...one.got(), ...other.got()].sort((a, b) => Number(a) - Number(b));
    await expect.poll(all, PATIENCE).toEqual(Array.from({ length: 40 }, (_, orderId) => orderId));
    const answering = new Set<string>();
    await expect
      .poll(async () => answering.add(await ask(caller, 'GET', '/v1.0/invoke/worker/method/who')).size, PATIENCE)
      .toBe(2);
  });

  test('one stops while the other publishes: nothing is lost when it starts again', async () => {
    const publisher = await run('checkout');
    const first = await run('order-processor', app());
    const publishing = (async () => {
      for (let orderId = 0; orderId < 100; orderId++) await publish(publisher, orderId);
    })();
    // It is awaited below: what fails before must not leave it unhandled.
    publishing.catch(() => undefined);
    await expect.poll(() => first.got().length, PATIENCE).toBeGreaterThan(0);
    await stop(first);
    await publishing;
    const second = await run('order-processor', app());
    const all = (): unknown[] => [...new Set([...first.got(), ...second.got()])].sort((a, b) => Number(a) - Number(b));
    await expect.poll(all, PATIENCE).toEqual(Array.from({ length: 100 }, (_, orderId) => orderId));
  });

  test('share a component in memory of one name in files of their own', async () => {
    const directory = await temporaryDirectory();
    const component = {
      apiVersion: 'dapr.io/v1alpha1',
      kind: 'Component',
      metadata: { name: 'orderpubsub' },
      spec: { type: 'pubsub.redis', version: 'v1', metadata: [{ name: 'redisHost', value: 'localhost:6379' }] },
    };
    const file = join(directory, 'pubsub.yaml');
    await writeFile(file, JSON.stringify(component));
    const files = ['--resources-path', file, '--map', 'pubsub.redis=pubsub.in-memory'];
    const second = await run('order-processor', app('orderpubsub'), ...files);
    const first = await run('checkout', undefined, ...files);
    await publish(first, { orderId: 1 }, 'orderpubsub');
    await expect.poll(second.got, PATIENCE).toEqual([{ orderId: 1 }]);
    const { components } = JSON.parse(await ask(first, 'GET', '/v1.0/metadata')) as { components: object[] };
    expect(components).toContainEqual(expect.objectContaining({ name: 'orderpubsub', type: 'pubsub.in-memory' }));
  });

  describe('share stores in memory of one name in files of their own', () => {
    /** The flags of a run with files in which everything is in memory, with the same keys for all applications. */
    async function inMemory(): Promise<readonly string[]> {
      const directory = await temporaryDirectory();
      for (const type of ['lock', 'state']) {
        const component = {
          apiVersion: 'dapr.io/v1alpha1',
          kind: 'Component',
          metadata: { name: `${type}s` },
          spec: { type: `${type}.in-memory`, version: 'v1', metadata: [{ name: 'keyPrefix', value: 'none' }] },
        };
        await writeFile(join(directory, `${type}.yaml`), JSON.stringify(component));
      }
      return ['--resources-path', directory];
    }
    const lock = async (from: Run, lockOwner: string, expiryInSeconds = 60): Promise<unknown> => {
      const body = { resourceId: 'report', lockOwner, expiryInSeconds };
      return (JSON.parse(await ask(from, 'POST', '/v1.0-alpha1/lock/locks', body)) as { success: unknown }).success;
    };
    const unlock = async (from: Run, lockOwner: string): Promise<unknown> =>
      JSON.parse(await ask(from, 'POST', '/v1.0-alpha1/unlock/locks', { resourceId: 'report', lockOwner }));

    test('a lock that one command has is refused to the other, until it is released', async () => {
      const [one, other] = [
        await run('one', undefined, ...(await inMemory())),
        await run('two', undefined, ...(await inMemory())),
      ];
      expect([await lock(one, 'a'), await lock(other, 'b')]).toEqual([true, false]);
      expect(await unlock(other, 'b')).toEqual({ status: 2 });
      expect(await unlock(one, 'a')).toEqual({ status: 0 });
      expect([await lock(other, 'b'), await lock(one, 'a')]).toEqual([true, false]);
      const { components } = JSON.parse(await ask(one, 'GET', '/v1.0/metadata')) as { components: object[] };
      expect(components).toContainEqual(expect.objectContaining({ name: 'locks', type: 'lock.in-memory' }));
    });

    test('the lock of a command that is killed is free once it expires, and not before', async () => {
      const [one, other] = [
        await run('one', undefined, ...(await inMemory())),
        await run('two', undefined, ...(await inMemory())),
      ];
      const startedAt = performance.now();
      expect(await lock(one, 'a', 5)).toBe(true);
      one.cli.child.kill('SIGKILL');
      await one.cli.ended;
      await expect.poll(() => lock(other, 'b'), PATIENCE).toBe(true);
      expect(performance.now() - startedAt).toBeGreaterThan(4_900);
    });

    test('values of one are there for the other', async () => {
      const [one, other] = [
        await run('one', undefined, ...(await inMemory())),
        await run('two', undefined, ...(await inMemory())),
      ];
      await ask(one, 'POST', '/v1.0/state/states', [{ key: 'order', value: 1 }]);
      expect(await ask(other, 'GET', '/v1.0/state/states/order')).toBe('1');
    });

    test('but not with --isolated', async () => {
      const files = await inMemory();
      const [one, other] = [await run('one', undefined, ...files), await run('two', undefined, ...files, '--isolated')];
      expect([await lock(one, 'a'), await lock(other, 'b')]).toEqual([true, true]);
      await ask(one, 'POST', '/v1.0/state/states', [{ key: 'order', value: 1 }]);
      expect(await ask(other, 'GET', '/v1.0/state/states/order')).toBe('');
    });
  });
});

test('two commands in the shape of hello-world: orders are kept in state, also while their application is away', async () => {
  const node = program(`
    import { createServer } from 'node:http';
    const state = 'http://127.0.0.1:' + process.env.DAPR_HTTP_PORT + '/v1.0/state/statestore';
    createServer(async (req, res) => {
      let body = '';
      for await (const chunk of req) body += chunk;
      if (req.url === '/neworder') {
        const saved = await fetch(state, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify([{ key: 'order', value: JSON.parse(body).data }]),
        });
        return res.writeHead(saved.ok ? 200 : 500).end();
      }
      if (req.url === '/order') {
        const found = await fetch(state + '/order');
        return res.writeHead(found.status, { 'content-type': 'application/json' }).end(await found.text());
      }
      res.writeHead(404).end();
    }).listen(Number(process.env.APP_PORT), '127.0.0.1');`);
  const python = await run('pythonapp');
  const nodeapp = await run('nodeapp', node);
  for (let orderId = 1; orderId <= 3; orderId++)
    await ask(python, 'POST', '/v1.0/invoke/nodeapp/method/neworder', { data: { orderId } });
  expect(await ask(python, 'GET', '/v1.0/invoke/nodeapp/method/order')).toBe('{"orderId":3}');
  expect(await ask(nodeapp, 'GET', '/v1.0/state/statestore/order')).toBe('{"orderId":3}');
  await stop(nodeapp);
  await run('nodeapp', node);
  expect(await ask(python, 'GET', '/v1.0/invoke/nodeapp/method/order')).toBe('{"orderId":3}');
});

test('three commands in the shape of a calculator: a front end calls two others and keeps its state', async () => {
  const operation = (name: string, code: string): readonly string[] =>
    app(
      'pubsub',
      `if (req.url === '/${name}') { const { a, b } = JSON.parse(body); return res.end(JSON.stringify(${code})); }`,
    );
  const front = await run('front');
  await run('addapp', operation('add', 'a + b'));
  await run('subtractapp', operation('subtract', 'a - b'));
  expect(await ask(front, 'POST', '/v1.0/invoke/addapp/method/add', { a: 3, b: 4 })).toBe('7');
  expect(await ask(front, 'POST', '/v1.0/invoke/subtractapp/method/subtract', { a: 3, b: 4 })).toBe('-1');
  await ask(front, 'POST', '/v1.0/state/statestore', [{ key: 'total', value: 7 }]);
  expect(await ask(front, 'GET', '/v1.0/state/statestore/total')).toBe('7');
});

test('the lines of docs/cli.md do what it says', async () => {
  const text = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
  const [, section = ''] = /### Commands that find each other\n(.*?)\n### /s.exec(text) ?? [];
  const ports = new Map<string, string>();
  for (const port of ['3500', '3501', '6001']) ports.set(port, String(await freePort()));
  const freed = (line: string): string => line.replace(/\b(3500|3501|6001)\b/g, (port) => ports.get(port) ?? port);
  const cwd = await temporaryDirectory();
  const methods = `if (req.url === '/orders') return res.end('[1]');`;
  await writeFile(
    join(cwd, 'app.js'),
    app('pubsub', methods)
      .at(-1)
      ?.replace(/^import .*$/m, CREATE_SERVER) ?? '',
  );
  const runs = [...section.matchAll(/^insidecar (run .*)$/gm)].map(([, line = '']) => {
    const args = freed(line).split(' ');
    return startCli([...args.slice(0, 1), '--log-json=false', ...args.slice(1)], { env, cwd });
  });
  expect(runs).toHaveLength(2);
  const [subscriber] = runs;
  for (const { stderr } of runs) await untilSaid(stderr, 'sidecar at');
  await untilSaid(subscriber?.stderr ?? String, 'the application is ready');
  const answers: (readonly [status: number, text: string])[] = [];
  for (const [line] of section.matchAll(/^curl .*$/gm)) {
    const response = await sendCurl(line, `http://127.0.0.1:${ports.get('3500')}`);
    answers.push([response.status, await response.text()]);
  }
  expect(answers).toEqual([
    [204, ''],
    [200, '[1]'],
    [204, ''],
    [200, '1'],
  ]);
  await untilSaid(subscriber?.stdout ?? String, 'got {"orderId":1}');
});

describe('what commands share', () => {
  test('is for their user only, and is gone with the last one', async () => {
    const [first, second] = [await run('one'), await run('two')];
    await ask(first, 'POST', '/v1.0/state/statestore', [{ key: 'a', value: 1 }]);
    for (const name of ['.', ...namesThere()])
      expect([name, lstatSync(join(sharedIn(), name)).mode & 0o077]).toEqual([name, 0]);
    await stop(first);
    expect(namesThere()).toEqual([expect.stringMatching(/^\d+\.json$/), expect.stringMatching(/^shared-/)]);
    await stop(second);
    expect(namesThere()).toEqual([]);
    expect(await ask(await run('one'), 'GET', '/v1.0/state/statestore/a')).toBe('');
  });

  test('is removed by the next command after all have been killed', async () => {
    const runs = [await run('one'), await run('two')] as const;
    await ask(runs[0], 'POST', '/v1.0/state/statestore', [{ key: 'a', value: 1 }]);
    for (const { cli } of runs) cli.child.kill('SIGKILL');
    for (const { cli } of runs) await cli.ended;
    expect(namesThere()).toHaveLength(3);
    const next = await run('one');
    expect(await ask(next, 'GET', '/v1.0/state/statestore/a')).toBe('');
    expect(namesThere()).toHaveLength(2);
  });

  test.each<[how: string, flags: readonly string[], env: NodeJS.ProcessEnv]>([
    ['--isolated', ['--isolated'], {}],
    ['INSIDECAR_ISOLATED', [], { INSIDECAR_ISOLATED: 'true' }],
    ['--state-path', ['--state-path', 'DIRECTORY'], {}],
  ])('is not shared with %s', async (_how, flags, more) => {
    const other = await run('order-processor', app());
    const path = await temporaryDirectory();
    env = { ...env, ...more };
    const alone = await run('checkout', undefined, ...flags.map((flag) => flag.replace('DIRECTORY', path)));
    expect(alone.cli.stderr()).not.toContain('shared with the other commands');
    const { status } = await send(`http://127.0.0.1:${alone.port}`, 'GET', '/v1.0/invoke/order-processor/method/who');
    expect(status).toBe(500);
    expect(other.got()).toEqual([]);
  });

  test('that cannot be kept is an error that says what to do', async () => {
    const lock = join(sharedIn(), 'lock.db');
    mkdirSync(lock, { recursive: true });
    chmodSync(sharedIn(), 0o700);
    const { code, stderr } = await runCli(['run', '--app-id', 'a', '--http-port', '0', '--log-json=false'], { env });
    expect(stderr).toMatch(
      /insidecar: what this command shares with others cannot be kept in ".*insidecar": .*--isolated/,
    );
    expect(code).toBe(1);
  });

  test('an environment variable that is neither true nor false is refused', async () => {
    const { code, stderr } = await runCli(['run', '--app-id', 'a'], { env: { INSIDECAR_ISOLATED: 'maybe' } });
    expect(stderr).toContain('environment variable INSIDECAR_ISOLATED is "maybe": expected true or false');
    expect(code).toBe(1);
  });
});

const ONE_USER = 12_345;

/** A Node that every user may run: that of root may lie where nobody else comes. */
async function nodeForAll(): Promise<string> {
  const node = join(await temporaryDirectory(), 'node');
  chmodSync(dirname(node), 0o755);
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
  chmodSync(node, 0o755);
  return node;
}

describe.runIf(process.getuid?.() === 0)('another user', () => {
  test('shares nothing with this one, beside it in the directory for temporary files', async (context) => {
    const as = { uid: ONE_USER, node: await nodeForAll() };
    const temporary = env['TMPDIR'] ?? '';
    chmodSync(temporary, 0o1777);
    // Without a directory of the system for each user.
    env = { TMPDIR: temporary, XDG_RUNTIME_DIR: join(temporary, 'none'), XDG_CACHE_HOME: temporary };
    if ((await runCli(['--version'], { env, as, cwd: temporary })).code !== 0) return context.skip('may not read dist');
    await run('one');
    const port = String(await freePort());
    const flags = ['--app-id', 'two', '--http-port', port, '--log-json=false'];
    const other = startCli(['run', ...flags], { env, as, cwd: temporary });
    await untilSaid(other.stderr, 'sidecar at');
    expect(other.stderr()).toContain('shared with the other commands of this user');
    expect((await runCli(['list', '-o', 'json'], { env })).stdout).toMatch(/^\[[^[]*"appId": "one"[^[]*\]\n$/);
    const theirs = await runCli(['list', '-o', 'json'], { env, as, cwd: temporary });
    expect(theirs.stdout).toMatch(/^\[[^[]*"appId": "two"[^[]*\]\n$/);
    const { text } = await send(`http://127.0.0.1:${port}`, 'GET', '/v1.0/invoke/one/method/x');
    expect(text).toContain('ERR_DIRECT_INVOKE');
    for (const uid of [0, ONE_USER]) {
      const { mode, uid: owner } = lstatSync(join(temporary, `insidecar-${uid}`));
      expect([mode & 0o777, owner]).toEqual([0o700, uid]);
    }
  });

  test('whose directory has the name is not joined: the command says so, and is alone', async () => {
    const taken = [sharedIn(), join(env['TMPDIR'] ?? '', 'insidecar-0')];
    for (const path of taken) {
      mkdirSync(path, { mode: 0o700 });
      chownSync(path, ONE_USER, ONE_USER);
    }
    const alone = await run('one');
    expect(alone.cli.stderr()).toContain('there is no directory that only this user may use');
    expect(alone.cli.stderr()).toContain('state in memory');
    for (const path of taken) expect(readdirSync(path)).toEqual([]);
  });
});
