import assert from 'node:assert/strict';
import { readAll } from '../http/body.ts';
import type { SidecarRequest } from '../http/message.ts';
import { type AdapterCase, type BodyParser, bytesOf, handlerOf, mounted } from './adapter-case.ts';
import { RawClient, send } from './adapter-client.ts';

const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, index) => index);
const CONCURRENT = 40;

/** Responds with the method, URL and body of the request. */
const echo = handlerOf(async ({ method, path, search, body }) => ({
  headers: { 'x-seen': `${method} ${path}${search === '' ? '' : `?${search}`}` },
  body: await bytesOf(body),
}));

/** Responds with the result of a function of the request. */
const telling = (tell: (request: SidecarRequest) => unknown) =>
  handlerOf((request) => ({ body: JSON.stringify(tell(request)) }));

const routeOnly = (path: string) =>
  handlerOf((request) =>
    request.path === path ? { body: 'routed' } : { status: 404, body: 'no route', unrouted: true as const },
  );

const targets: readonly AdapterCase[] = [
  mounted('passes path and query on unchanged', {}, () => ({
    handler: telling(({ path, search }) => [path, search]),
    async check(url) {
      for (const target of ['/a%2Fb//c+d/%C3%A9/', '/a?x=1+2&y=%2F&z', '/a?', '/a?b?c', '/']) {
        using client = new RawClient(url);
        client.send(`GET ${target} HTTP/1.1`, 'host: a', 'connection: close', '', '');
        const [path = '', ...search] = target.split('?');
        assert.ok((await client.all()).includes(JSON.stringify([path, search.join('?')])), client.received);
      }
    },
  })),
  mounted('passes on the host, and what a browser tells of its page', {}, () => ({
    handler: telling(({ headers }) => [
      headers['host'] ?? headers[':authority'],
      ...['origin', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest'].map((name) => headers[name]),
    ]),
    async check(url) {
      const [origin, site, mode, dest] = ['http://evil.example', 'cross-site', 'navigate', 'iframe'];
      const told = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
      const { body } = await send(url, { headers: { host: 'rebound.example:3500', origin, ...told } });
      assert.deepEqual(JSON.parse(body.toString()), ['rebound.example:3500', origin, site, mode, dest]);
    },
  })),
  mounted('takes a request target with scheme and host for its path', { prefix: '/sidecar' }, () => ({
    handler: telling(({ path, search, originalPath }) => [path, search, originalPath ?? `/sidecar${path}`]),
    async check(url) {
      for (const origin of [url, 'http://other.example:80', 'HTTPS://a']) {
        using client = new RawClient(url);
        client.send(`GET ${origin}/sidecar/a%2Fb//c?x=http://d HTTP/1.1`, 'host: a', 'connection: close', '', '');
        const seen = JSON.stringify(['/a%2Fb//c', 'x=http://d', '/sidecar/a%2Fb//c']);
        assert.ok((await client.all()).includes(seen), client.received);
      }
    },
  })),
  mounted('removes its prefix', { prefix: '/sidecar' }, () => ({
    handler: telling(({ path, search }) => [path, search]),
    async check(url) {
      const seen = async (target: string) => JSON.parse((await send(url + target)).body.toString()) as unknown;
      assert.deepEqual(await seen('/sidecar/v1.0/a?b=c'), ['/v1.0/a', 'b=c']);
      assert.deepEqual(await seen('/sidecar'), ['/', '']);
      assert.deepEqual(await seen('/sidecar?b'), ['/', 'b']);
    },
  })),
  mounted('answers 404 outside its prefix', { prefix: '/sidecar/' }, () => ({
    handler: routeOnly('/in'),
    async check(url) {
      assert.equal((await send(`${url}/sidecar/in`)).body.toString(), 'routed');
      for (const path of ['/in', '/other/in', '/sidecarin', '/sidecars/in'])
        assert.equal((await send(url + path)).status, 404, path);
    },
  })),
  mounted('can be mounted under a path by the framework', { needs: ['mount-path'], mountPath: '/below' }, () => ({
    handler: echo,
    async check(url) {
      const { headers, body } = await send(`${url}/below/v1.0/a%2Fb?c=d`, { method: 'POST', body: 'text' });
      assert.deepEqual([headers['x-seen'], body.toString()], ['POST /v1.0/a%2Fb?c=d', 'text']);
      assert.equal((await send(`${url}/elsewhere`)).status, 299);
    },
  })),
];

const fallthrough: readonly AdapterCase[] = [
  mounted('passes on requests without a route, their bodies unread', { fallthrough: true }, () => ({
    handler: routeOnly('/in'),
    async check(url) {
      assert.equal((await send(`${url}/in`)).body.toString(), 'routed');
      const { status, body } = await send(`${url}/a%2Fb?c=d`, { method: 'POST', body: 'text' });
      assert.deepEqual([status, body.toString()], [299, 'POST /a%2Fb?c=d text']);
    },
  })),
  mounted('passes on requests outside its prefix', { fallthrough: true, prefix: '/sidecar' }, () => ({
    handler: handlerOf(() => ({ body: 'routed' })),
    async check(url) {
      assert.equal((await send(`${url}/sidecar/in`)).body.toString(), 'routed');
      const { status, body } = await send(`${url}/sidecars`, { method: 'PUT', body: 'text' });
      assert.deepEqual([status, body.toString()], [299, 'PUT /sidecars text']);
    },
  })),
  mounted('answers requests without a route itself by default', {}, () => ({
    handler: routeOnly('/in'),
    async check(url) {
      const { status, body } = await send(`${url}/other`);
      assert.deepEqual([status, body.toString()], [404, 'no route']);
    },
  })),
];

const bodies: readonly AdapterCase[] = [
  mounted('passes the bytes of a body on unchanged', {}, () => ({
    handler: echo,
    async check(url) {
      const headers = { 'content-type': 'application/octet-stream' };
      for (const body of [EVERY_BYTE, Buffer.alloc(1_000_000, EVERY_BYTE), new Uint8Array(0)]) {
        const reply = await send(url, { method: 'POST', headers, body });
        assert.ok(reply.body.equals(body), `${body.length} bytes, ${reply.body.length} came back`);
      }
    },
  })),
  mounted('accepts a chunked body', {}, () => ({
    handler: echo,
    async check(url) {
      const headers = { 'transfer-encoding': 'chunked' };
      const reply = await send(url, { method: 'PUT', headers, body: 'in chunks' });
      assert.equal(reply.body.toString(), 'in chunks');
    },
  })),
  mounted('answers many concurrent requests correctly', {}, () => ({
    handler: echo,
    async check(url) {
      const numbers = Array.from({ length: CONCURRENT }, (_, index) => index);
      const answers = numbers.map((number) => send(`${url}/${number}`, { method: 'POST', body: `body ${number}` }));
      for (const [number, { headers, body }] of (await Promise.all(answers)).entries())
        assert.deepEqual([headers['x-seen'], body.toString()], [`POST /${number}`, `body ${number}`]);
    },
  })),
  mounted('joins repeated header fields and cookies', {}, () => ({
    handler: telling(({ headers }) => [headers['x-many'], headers['cookie'], headers['x-one']]),
    async check(url) {
      using client = new RawClient(url);
      const repeated = ['X-Many: 1', 'x-many: 2', 'Cookie: a=1', 'cookie: b=2', 'X-One: 3'];
      client.send('GET / HTTP/1.1', 'host: a', ...repeated, 'connection: close', '', '');
      assert.ok((await client.all()).includes('["1, 2","a=1; b=2","3"]'), client.received);
    },
  })),
];

/** A body as sent, the parser that reads it first, and the body that the handler must get. */
interface ParsedRow {
  readonly by: BodyParser;
  readonly type: string;
  readonly sent: string | Uint8Array;
  readonly arrives?: string;
}

const PARSED: readonly ParsedRow[] = [
  { by: 'bytes', type: 'application/octet-stream', sent: EVERY_BYTE },
  { by: 'text', type: 'text/plain', sent: 'tëxt' },
  { by: 'text', type: 'application/json', sent: '{"a": 1.0}' },
  { by: 'json', type: 'application/json', sent: '{"a": [1, "é"]}', arrives: '{"a":[1,"é"]}' },
  { by: 'json', type: 'application/cloudevents+json; charset=utf-8', sent: '[ ]', arrives: '[]' },
  { by: 'json-and-raw', type: 'application/json', sent: '{"a": 12345678901234567890}' },
  { by: 'form', type: 'application/x-www-form-urlencoded', sent: 'a=1&b=x+y&b=%26', arrives: 'a=1&b=x%20y&b=%26' },
];

const parsed: readonly AdapterCase[] = [
  ...PARSED.map(({ by, type, sent, arrives = sent }) =>
    mounted(`accepts an already parsed body of ${type}: ${by}`, { needs: ['body-parser'], bodyParser: by }, () => ({
      handler: handlerOf(async ({ headers, body }) => {
        const bytes = await bytesOf(body);
        return { headers: { 'x-length': headers['content-length'], 'x-type': headers['content-type'] }, body: bytes };
      }),
      async check(url) {
        const { headers, body } = await send(url, { method: 'POST', headers: { 'content-type': type }, body: sent });
        const expected = Buffer.from(arrives);
        assert.equal(body.toString('latin1'), expected.toString('latin1'));
        assert.deepEqual([headers['x-length'], headers['x-type']], [String(expected.length), type]);
      },
    })),
  ),
  mounted('accepts requests without a body behind a parser', { needs: ['body-parser'], bodyParser: 'json' }, () => ({
    handler: handlerOf(({ body }) =>
      readAll(body, 1).then(
        (bytes) => ({ body: bytes }),
        () => ({ status: 500 }),
      ),
    ),
    async check(url) {
      assert.equal((await send(url)).body.length, 0);
      const json = { 'content-type': 'application/json' };
      for (const framing of [{ 'content-length': '0' }, { 'transfer-encoding': 'chunked' }]) {
        const { status, body } = await send(url, { method: 'POST', headers: { ...json, ...framing } });
        assert.deepEqual([status, body.length], [200, 0]);
      }
    },
  })),
  mounted('accepts a body that the parser has not read', { needs: ['body-parser'], bodyParser: 'json' }, () => ({
    handler: echo,
    async check(url) {
      const headers = { 'content-type': 'text/plain' };
      assert.equal((await send(url, { method: 'POST', headers, body: 'unread' })).body.toString(), 'unread');
    },
  })),
  mounted(
    'fails instead of treating a body that was read but not kept as empty',
    { needs: ['body-parser'], bodyParser: 'nothing' },
    () => ({
      handler: handlerOf(({ body }) =>
        bytesOf(body).then(
          () => ({ status: 204 }),
          (error: Error) => ({ status: 500, body: error.message }),
        ),
      ),
      async check(url) {
        const { status, body } = await send(url, { method: 'POST', body: 'lost' });
        assert.equal(status, 500);
        assert.match(body.toString(), /read by another middleware/);
      },
    }),
  ),
];

/** Cases about receiving requests. */
export const requestCases: readonly AdapterCase[] = [...targets, ...fallthrough, ...bodies, ...parsed];
