import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type HttpBindingOptions, httpBinding } from '../../src/index.ts';
import { type BindingsWorld, bindingsWorld } from '../support/bindings-world.ts';
import { freePort, listen } from '../support/http.ts';
import { until, WIRES } from '../support/stores-world.ts';

interface Got {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

interface Told {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A target that records its requests, and a sidecar with a binding to it. */
async function withTarget(
  tell: (got: Got) => Told | Promise<Told>,
  options: Partial<HttpBindingOptions> = {},
  wire: 'sidecar' | 'dapr' = 'sidecar',
): Promise<{ readonly world: BindingsWorld; readonly got: readonly Got[]; readonly url: string }> {
  const got: Got[] = [];
  const target = await listen((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', async () => {
      const one = { method: req.method, path: req.url, headers: req.headers, body: Buffer.concat(chunks).toString() };
      got.push(one);
      const { status = 200, headers = {}, body = '' } = await tell(one);
      res.writeHead(status, headers).end(body);
    });
  });
  const url = options.url ?? target.url;
  const world = await bindingsWorld({ wire, components: [httpBinding('web', { ...options, url })], hasApp: false });
  onTestFinished(async () => {
    await world[Symbol.asyncDispose]();
    await target[Symbol.asyncDispose]();
  });
  return { world, got, url: target.url };
}

const messageOf = (text: string): string => (JSON.parse(text) as { readonly message: string }).message;

test.each(WIRES)('wire %s: operations are methods; a body goes with three of them', async (wire) => {
  const { world, got } = await withTarget(() => ({ body: '{"ok":true}' }), {}, wire);
  for (const operation of ['create', 'get', 'post', 'put', 'patch', 'delete', 'options', 'trace', 'head'])
    expect((await world.invoke('web', { operation, data: { n: 1 } })).status).toBe(200);
  expect(got.map(({ method, body }) => [method, body])).toEqual([
    ...[
      ['POST', '{"n":1}'],
      ['GET', ''],
      ['POST', '{"n":1}'],
      ['PUT', '{"n":1}'],
      ['PATCH', '{"n":1}'],
    ],
    ...[
      ['DELETE', ''],
      ['OPTIONS', ''],
      ['TRACE', ''],
      ['HEAD', ''],
    ],
  ]);
  expect(got[0]?.headers).toMatchObject({
    accept: 'application/json; charset=utf-8',
    'content-type': 'application/json; charset=utf-8',
  });
  expect(got[1]?.headers).not.toHaveProperty('content-type');
});

test('the answer: body, status and headers', async () => {
  const { world } = await withTarget(() => ({ status: 201, headers: { 'x-id': '7' }, body: 'plain' }));
  const { status, text, headers } = await world.invoke('web', { operation: 'post' });
  expect([status, text]).toEqual([200, 'plain']);
  expect(headers).toMatchObject({
    'metadata.statuscode': '201',
    'metadata.status': '201 Created',
    'metadata.x-id': '7',
  });
});

test('an answer that is no success is an error with its headers, unless asked otherwise', async () => {
  const { world } = await withTarget(() => ({ status: 404, headers: { 'x-id': '7' }, body: 'none' }));
  const refused = await world.invoke('web', { operation: 'get' });
  expect([refused.status, refused.headers['metadata.statuscode'], refused.headers['metadata.x-id']]).toEqual([
    500,
    '404',
    '7',
  ]);
  const taken = await world.invoke('web', { operation: 'get', metadata: { errorIfNot2XX: 'false' } });
  expect([taken.status, taken.text, taken.headers['metadata.statuscode']]).toEqual([200, 'none', '404']);
});

test('keys with a capital are headers; trace and token go along, and the token cannot be replaced', async () => {
  const token = { header: 'X-Token', value: 'secret' };
  const { world, got } = await withTarget(() => ({}), { token });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const metadata = { 'X-Shop': 'a', 'X-Token': 'mine', Host: 'evil', lower: 'x', Accept: 'text/plain' };
  await world.invoke('web', { operation: 'get', metadata }, { traceparent });
  expect(got[0]?.headers).toMatchObject({ 'x-shop': 'a', 'x-token': 'secret', accept: 'text/plain', traceparent });
  expect(got[0]?.headers).not.toHaveProperty('lower');
  expect(got[0]?.headers['host']).not.toBe('evil');
  const broken = await world.invoke('web', { operation: 'get', metadata: { 'X-Shop': 'a\nb' } });
  expect([broken.status, got.length]).toEqual([500, 1]);
});

test('path is below the URL, and never leaves it', async () => {
  const server = await listen((req, res) => void res.end(req.url));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { world } = await withTarget(() => ({}), { url: `${server.url}/api/?v=1` });
  const at = async (path: string): Promise<readonly unknown[]> => {
    const { status, text } = await world.invoke('web', { operation: 'get', metadata: { path } });
    return status === 200 ? [status, text] : [status];
  };
  expect(await at('')).toEqual([200, '/api/?v=1']);
  expect(await at('/orders/1?x=2')).toEqual([200, '/api/orders/1?v=1&x=2']);
  expect(await at('//evil.example/x')).toEqual([200, '/api/evil.example/x?v=1']);
  expect(await at('http://evil.example')).toEqual([200, '/api/http://evil.example?v=1']);
  for (const path of ['../x', 'a/../x', 'a/%2e%2E/x', 'a%2f..%2fx', '.\t./x', 'a\\..\\x', 'x#y', '..', '.%2e/x'])
    expect([path, ...(await at(path))]).toEqual([path, 500]);
});

test('redirects are followed on the same origin only', async () => {
  const elsewhere = await listen((_req, res) => void res.end('stolen'));
  onTestFinished(() => elsewhere[Symbol.asyncDispose]());
  const { world, got } = await withTarget(({ path }) => {
    if (path === '/see') return { status: 303, headers: { location: '/end' } };
    if (path === '/same') return { status: 307, headers: { location: '/end' } };
    if (path === '/loop') return { status: 302, headers: { location: '/loop' } };
    if (path === '/out') return { status: 302, headers: { location: `${elsewhere.url}/x` } };
    return { body: 'end' };
  });
  const to = (path: string) => world.invoke('web', { operation: 'post', data: 1, metadata: { path } });
  expect((await to('/see')).text).toBe('end');
  expect((await to('/same')).text).toBe('end');
  expect(got.map(({ method, path, body }) => `${method} ${path} ${body}`)).toEqual([
    ...['POST /see 1', 'GET /end ', 'POST /same 1', 'POST /end 1'],
  ]);
  const out = await to('/out');
  expect([out.status, out.headers['metadata.statuscode'], out.text.includes('stolen')]).toEqual([500, '302', false]);
  expect((await to('/loop')).status).toBe(500);
});

test('a target that is down, hangs, or closes early; no address in the error', async () => {
  const port = await freePort();
  const { world: toNobody } = await withTarget(() => ({}), { url: `http://user:secret@127.0.0.1:${port}/hidden` });
  const down = await toNobody.invoke('web', { operation: 'get' });
  expect([down.status, messageOf(down.text)]).toEqual([
    500,
    'error invoking output binding web: the target could not be called (ECONNREFUSED)',
  ]);
  const rude = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'));
  });
  await new Promise<void>((resolve) => rude.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void rude.close());
  const { port: rudePort } = rude.address() as { readonly port: number };
  const { world: toRude } = await withTarget(() => ({}), { url: `http://127.0.0.1:${rudePort}` });
  const cut = await toRude.invoke('web', { operation: 'get' });
  expect([cut.status, messageOf(cut.text).includes(String(rudePort))]).toEqual([500, false]);
  const { world: late, got } = await withTarget(() => new Promise(() => undefined), { timeout: '5s' });
  const answer = late.invoke('web', { operation: 'get' });
  await until(
    () => got.length === 1,
    () => 'the request',
  );
  await late.clock.advance('5s');
  expect(messageOf((await answer).text)).toContain('has not answered within 5000 ms');
});

test('an answer over the limit is an error', async () => {
  const { world } = await withTarget(({ path }) => ({ body: 'x'.repeat(path === '/large' ? 200_000 : 10) }), {
    maxAnswerBytes: 9,
  });
  expect((await world.invoke('web', { operation: 'get' })).status).toBe(500);
  const large = await world.invoke('web', { operation: 'get', metadata: { path: 'large' } });
  expect(messageOf(large.text)).toContain('larger than 9 bytes');
});

test('wrong options are refused without their secrets', () => {
  const refused = (options: object): string => {
    try {
      httpBinding('web', options as HttpBindingOptions);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(refused({})).toContain('url');
  expect(refused({ url: 'ftp://user:secret@x' })).toBe(
    'url of httpBinding "web": expected a URL that begins with http:// or https://',
  );
  expect(refused({ url: 'http://x', timeout: -1 })).toContain('timeout');
  expect(refused({ url: 'http://x', token: { header: 'a b', value: 'secret' } })).toContain('header');
  expect(refused({ url: 'http://x', tls: { rootCA: 'secret' } })).not.toContain('secret');
  expect(refused({ url: 'http://x', retries: 3 })).toContain('unknown field "retries"');
});
