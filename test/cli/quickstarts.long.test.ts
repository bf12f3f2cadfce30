import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freePort } from '../support/http.ts';
import { redisCommand } from '../support/redis-groups.ts';
import { hasRedis, startRedis } from '../support/servers.ts';
import { program, runCli, temporaryDirectory } from './cli.ts';

/*
 * Programs of our own in the shape of Dapr's quickstarts for JavaScript over HTTP: what the first one says at once has to
 * reach the second one, which takes its time to come up.
 */

/** How long the second application takes before it listens. */
const SLOW_MS = 600;

const POST = `
  const sidecar = 'http://127.0.0.1:' + (process.env.TO_PORT ?? process.env.DAPR_HTTP_PORT);
  async function post(path, body, headers = {}) {
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
    const response = await fetch(sidecar + path, { ...init, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(path + ': ' + response.status + ' ' + (await response.text()));
    return response;
  }`;

/** An application with one route, which ends when that was called so often. */
const receiver = (route: string, calls: number, more = ''): string => `
  import { createServer } from 'node:http';
  let calls = 0;
  const server = createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    ${more}
    if (req.url !== '${route}') return res.writeHead(404).end();
    const body = JSON.parse(Buffer.concat(chunks).toString());
    console.log('got', JSON.stringify(body.data ?? body));
    res.setHeader('content-type', 'application/json').end('{}');
    if (++calls === ${calls}) setTimeout(() => process.exit(0), 50);
  });
  setTimeout(() => server.listen(Number(process.env.APP_PORT), '127.0.0.1'), ${SLOW_MS});`;

interface Run {
  readonly first: { readonly code: string; readonly env?: Readonly<Record<string, string>> };
  readonly second: { readonly code: string; readonly daprHTTPPort?: number };
  readonly args?: readonly string[];
  readonly redisHost?: string;
}

/** What the second application got. */
async function received({
  first,
  second,
  args = [],
  redisHost = 'localhost:6379',
}: Run): Promise<{ got: unknown[]; stderr: string }> {
  const directory = await temporaryDirectory();
  const component = {
    apiVersion: 'dapr.io/v1alpha1',
    kind: 'Component',
    metadata: { name: 'orderpubsub' },
    spec: { type: 'pubsub.redis', version: 'v1', metadata: [{ name: 'redisHost', value: redisHost }] },
  };
  const { code, daprHTTPPort } = second;
  const apps = [
    { appID: 'checkout', appDirPath: '.', command: program(first.code), env: first.env ?? {} },
    {
      ...{ appID: 'order-processor', appDirPath: '.', command: program(code), appPort: await freePort() },
      ...(daprHTTPPort === undefined ? {} : { daprHTTPPort }),
    },
  ];
  const common = { resourcesPath: './pubsub.yaml' };
  await writeFile(join(directory, 'pubsub.yaml'), JSON.stringify(component));
  await writeFile(join(directory, 'dapr.yaml'), JSON.stringify({ version: 1, common, apps }));
  const path = args.map((arg) => arg.replace('DIRECTORY', directory));
  const {
    stdout,
    stderr,
    code: exit,
  } = await runCli(['run', '-f', directory, '--stop-when', 'all', '--log-json=false', ...path]);
  expect(exit, stderr).toBe(0);
  const got = [...stdout.matchAll(/got (.*)\n/g)].map(([, text = '']) => JSON.parse(text) as unknown);
  return { got, stderr };
}

async function everyOrderArrives(run: Pick<Run, 'args' | 'redisHost'>): Promise<void> {
  const checkout = `${POST}
    for (let orderId = 1; orderId <= 5; orderId++) {
      await post('/v1.0/publish/orderpubsub/orders', { orderId });
      console.log('published', orderId);
    }`;
  const subscriptions = JSON.stringify([{ pubsubname: 'orderpubsub', topic: 'orders', route: '/orders' }]);
  const discovery = `if (req.url === '/dapr/subscribe')
    return res.setHeader('content-type', 'application/json').end(${JSON.stringify(subscriptions)});`;
  const { got, stderr } = await received({
    first: { code: checkout },
    second: { code: receiver('/orders', 5, discovery) },
    ...run,
  });
  const ids = got.map((order) => (order as { orderId: number }).orderId).sort();
  expect(ids).toEqual([1, 2, 3, 4, 5]);
  expect(stderr).not.toContain('without subscribers');
}

describe.each([1, 2])('run -f, time %i', () => {
  test.each<[kind: string, args: readonly string[]]>([
    ['in memory', ['--map', 'pubsub.redis=pubsub.in-memory']],
    ['durable', ['--map', 'pubsub.redis=pubsub.durable', '--state-path', 'DIRECTORY/state']],
  ])('pub_sub: every order arrives, the first included, %s', (_kind, args) => everyOrderArrives({ args }));

  test.runIf(hasRedis())('pub_sub: every order arrives, the first included, on Redis', async () => {
    await using server = await startRedis();
    await everyOrderArrives({ redisHost: `localhost:${server.port}` });
  });

  test('service_invocation: every call is answered, the first included', async () => {
    const checkout = `${POST}
      for (let orderId = 1; orderId <= 3; orderId++)
        await post('/orders', { orderId }, { 'dapr-app-id': 'order-processor' });`;
    const { got } = await received({
      first: { code: checkout },
      second: { code: receiver('/orders', 3) },
      args: ['--map', 'pubsub.redis=pubsub.in-memory'],
    });
    expect(got).toEqual([{ orderId: 1 }, { orderId: 2 }, { orderId: 3 }]);
  });

  test('jobs: a job that is due before its application is up runs once it is', async () => {
    const daprHTTPPort = await freePort();
    const scheduler = `${POST}
      await post('/v1.0-alpha1/jobs/R2-D2', { data: { task: 'Oil change' }, dueTime: '0s' });
      await post('/v1.0-alpha1/jobs/C-3PO', { data: { task: 'Memory wipe' }, dueTime: '100ms' });`;
    const jobs = `if (req.url === '/job/R2-D2' || req.url === '/job/C-3PO') req.url = '/job';`;
    const { got } = await received({
      first: { code: scheduler, env: { TO_PORT: String(daprHTTPPort) } },
      second: { code: receiver('/job', 2, jobs), daprHTTPPort },
      args: ['--map', 'pubsub.redis=pubsub.in-memory'],
    });
    expect(got).toEqual([{ task: 'Oil change' }, { task: 'Memory wipe' }]);
  });
});

const METHODS = `
  const sidecar = 'http://127.0.0.1:' + process.env.DAPR_HTTP_PORT;
  async function call(method, path, body) {
    const init = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(sidecar + path, { method, ...init });
    const text = await response.text();
    if (!response.ok) throw new Error(path + ': ' + response.status + ' ' + text);
    return text === '' ? undefined : JSON.parse(text);
  }
  const got = (what) => console.log('got', JSON.stringify(what ?? null));`;

interface SingleRun {
  readonly code: string;
  readonly components: Readonly<
    Record<string, { readonly type: string; readonly metadata?: Readonly<Record<string, string>> }>
  >;
  readonly files?: Readonly<Record<string, string>>;
  readonly hasPort?: boolean;
  readonly args?: readonly string[];
  /** How the components reach the command: in the file of applications, or beside it. */
  readonly by: 'run -f' | '--resources-path';
}

/** What one application with components got, which ends by itself. */
async function gotAlone({
  code,
  components,
  files = {},
  hasPort = false,
  args = [],
  by,
}: SingleRun): Promise<unknown[]> {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'resources'));
  for (const [name, { type, metadata = {} }] of Object.entries(components)) {
    const spec = {
      type,
      version: 'v1',
      metadata: Object.entries(metadata).map(([key, value]) => ({ name: key, value })),
    };
    const component = { apiVersion: 'dapr.io/v1alpha1', kind: 'Component', metadata: { name }, spec };
    await writeFile(join(directory, 'resources', `${name}.yaml`), JSON.stringify(component));
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  const command = program(METHODS + code);
  const port = hasPort ? { appPort: await freePort() } : {};
  const app = { appID: 'order-processor', appDirPath: '.', command, ...port };
  const common = { resourcesPath: './resources' };
  await writeFile(join(directory, 'dapr.yaml'), JSON.stringify({ version: 1, common, apps: [app] }));
  const portArgs = port.appPort === undefined ? [] : ['--app-port', String(port.appPort)];
  const alone = ['--app-id', 'order-processor', '--resources-path', join(directory, 'resources'), ...portArgs];
  const given =
    by === 'run -f'
      ? ['-f', directory, '--stop-when', 'all', '--log-json=false', ...args]
      : [...alone, ...args, '--', ...command];
  const { stdout, stderr, code: exit } = await runCli(['run', ...given], { cwd: directory });
  expect(exit, stderr).toBe(0);
  return [...stdout.matchAll(/got (.*)\n/g)].map(([, text = '']) => JSON.parse(text) as unknown);
}

describe.each(['run -f', '--resources-path'] as const)('%s', (by) => {
  const ORDERS = `
    for (let orderId = 1; orderId <= 3; orderId++) {
      const order = { orderId };
      await call('POST', '/v1.0/state/statestore', [{ key: String(orderId), value: order }]);
      got(await call('GET', '/v1.0/state/statestore/' + orderId));
      await call('DELETE', '/v1.0/state/statestore/' + orderId);
      got(await call('GET', '/v1.0/state/statestore/' + orderId));
    }`;
  const savedAndDeleted = [{ orderId: 1 }, null, { orderId: 2 }, null, { orderId: 3 }, null];

  test('state_management: every order is saved, read and deleted, in memory', async () => {
    const components = { statestore: { type: 'state.in-memory' } };
    expect(await gotAlone({ code: ORDERS, components, by })).toEqual(savedAndDeleted);
  });

  test.runIf(hasRedis())('state_management: every order is saved, read and deleted, on Redis', async () => {
    await using server = await startRedis();
    const metadata = { redisHost: `localhost:${server.port}`, redisPassword: '' };
    const components = { statestore: { type: 'state.redis', metadata } };
    expect(await gotAlone({ code: ORDERS, components, by })).toEqual(savedAndDeleted);
  });

  test('secrets_management: a secret of a file is read', async () => {
    const metadata = { secretsFile: 'secrets.json', nestedSeparator: ':' };
    const got = await gotAlone({
      code: `
        got(await call('GET', '/v1.0/secrets/localsecretstore/secret'));
        got(await call('GET', '/v1.0/secrets/localsecretstore/redis:password'));`,
      components: { localsecretstore: { type: 'secretstores.local.file', metadata } },
      files: { 'secrets.json': JSON.stringify({ secret: 'YourPasskeyHere', redis: { password: 'nested' } }) },
      by,
    });
    expect(got).toEqual([{ secret: 'YourPasskeyHere' }, { 'redis:password': 'nested' }]);
  });

  test.runIf(hasRedis())('configuration: items of Redis are read, and changes are told', async () => {
    await using server = await startRedis();
    await redisCommand(server.port, ['MSET', 'orderId1', '101', 'orderId2', '102||v2']);
    const code = `
      import { createServer } from 'node:http';
      import { connect } from 'node:net';
      const store = '/v1.0/configuration/configstore';
      got(await call('GET', store + '?key=orderId1&key=orderId2'));
      let id;
      const server = createServer(async (req, res) => {
        const chunks = [];
        for await (const chunk of req) chunks.push(chunk);
        if (req.method !== 'POST' || !req.url.startsWith('/configuration/')) return res.writeHead(404).end();
        res.end();
        const { items } = JSON.parse(Buffer.concat(chunks).toString());
        got({ [req.url]: items });
        got(await call('GET', store + '/' + id + '/unsubscribe'));
        process.exit(0);
      });
      server.listen(Number(process.env.APP_PORT), '127.0.0.1', async () => {
        ({ id } = await call('GET', store + '/subscribe?key=orderId1&key=orderId2'));
        connect(${server.port}, '127.0.0.1').write('SET orderId1 103\\r\\n');
      });`;
    const metadata = { redisHost: `localhost:${server.port}`, redisPassword: '' };
    const components = { configstore: { type: 'configuration.redis', metadata } };
    const [read, told, ended] = await gotAlone({ code, components, hasPort: true, by });
    expect(read).toEqual({ orderId1: { value: '101' }, orderId2: { value: '102', version: 'v2' } });
    expect(told).toEqual({ '/configuration/configstore/orderId1': { orderId1: { value: '103' } } });
    expect(ended).toMatchObject({ ok: true });
  });
});

test('hello-world: an application keeps its order in the state store that is there without files', async () => {
  const code = `${METHODS}
    import { createServer } from 'node:http';
    const store = '/v1.0/state/statestore';
    const server = createServer(async (req, res) => {
      const chunks = [];
      for await (const chunk of req) chunks.push(chunk);
      if (req.method === 'POST' && req.url === '/neworder') {
        const { data } = JSON.parse(Buffer.concat(chunks).toString());
        await call('POST', store, [{ key: 'order', value: data }]);
        return res.end();
      }
      if (req.url !== '/order') return res.writeHead(404).end();
      if (req.method === 'DELETE') await call('DELETE', store + '/order');
      const order = await call('GET', store + '/order');
      res.setHeader('content-type', 'application/json').end(JSON.stringify(order ?? null));
    });
    server.listen(Number(process.env.APP_PORT), '127.0.0.1', async () => {
      const app = '/v1.0/invoke/nodeapp/method';
      await call('POST', app + '/neworder', { data: { orderId: '42' } });
      got(await call('GET', app + '/order'));
      got(await call('DELETE', app + '/order'));
      process.exit(0);
    });`;
  const named = ['--app-id', 'nodeapp', '--app-port', String(await freePort())];
  const ended = await runCli(['run', ...named, '--', ...program(code)], { cwd: await temporaryDirectory() });
  expect(ended.code, ended.stderr).toBe(0);
  expect([...ended.stdout.matchAll(/got (.*)\n/g)].map(([, text]) => text)).toEqual(['{"orderId":"42"}', 'null']);
});
