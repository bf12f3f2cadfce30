import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import { expressHandler, fetchHandler, nodeHandler, Sidecar, type WireName } from '../../src/index.ts';
import { resolveOptions } from '../../src/sidecar/options.ts';
import { type Answer, freePort, listen, send } from '../support/http.ts';
import { startInvocation } from '../support/invocation-world.ts';
import { WAYS } from '../support/served.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PROPFIND'];

/** Answers with the request, as a server may answer TRACE (RFC 9110, 9.3.8). */
const traced = (req: IncomingMessage, res: ServerResponse): unknown => res.end(req.rawHeaders.join('\n'));

describe.each(WAYS)('the own application (%s)', (via) => {
  test.each(METHODS)('%s reaches it, and its answer the caller', async (method) => {
    await using world = await startInvocation({
      via,
      callee: (_req, res) => res.writeHead(418, { 'x-answer': 'yes', 'content-type': 'text/plain' }).end('tea'),
    });
    const hasBody = ['POST', 'PUT', 'PATCH'].includes(method);
    const answer = await world.send(method, '/v1.0/invoke/shop/method/orders/1?a=b%20c&a=d', {
      headers: { 'x-asked': '1' },
      ...(hasBody ? { body: { id: 1 } } : {}),
    });
    expect([answer.status, answer.headers['x-answer'], answer.headers['content-type']]).toEqual([
      418,
      'yes',
      'text/plain',
    ]);
    expect(answer.text).toBe(method === 'HEAD' ? '' : 'tea');
    const { last } = world.app;
    expect([last.method, last.path, last.headers['x-asked']]).toEqual([method, '/orders/1?a=b%20c&a=d', '1']);
    expect([last.text, last.headers['content-type']]).toEqual(
      hasBody ? ['{"id":1}', 'application/json'] : ['', undefined],
    );
  });

  test('TRACE is 501 and not called: its answer would show what the sidecar adds to a request', async () => {
    await using world = await startInvocation({ via, appToken: 'the-token-of-the-app', callee: traced });
    const answer = await world.send('TRACE', '/v1.0/invoke/shop/method/x');
    expect(answer.error).toEqual([501, 'ERR_DIRECT_INVOKE']);
    expect(answer.text).not.toContain('the-token-of-the-app');
    expect(world.app.list).toEqual([]);
  });

  test('no method name is 400 ERR_DIRECT_INVOKE, no target too; nothing is called', async () => {
    await using world = await startInvocation({ via });
    for (const path of [
      '/v1.0/invoke',
      '/v1.0/invoke/',
      '/v1.0/invoke/shop',
      '/v1.0/invoke/shop/',
      '/v1.0/invoke/shop/method',
      '/v1.0/invoke/shop/method/',
      '/v1.0/invoke/shop/method//',
      '/v1.0/invoke//method/orders',
      '/v1.0/invoke/shop/methods/orders',
      '/v1.0/invoke/shop%2Fmethod%2Forders',
    ])
      expect((await world.send('POST', path)).error, path).toEqual([400, 'ERR_DIRECT_INVOKE']);
    expect(world.app.list).toEqual([]);
  });

  test('an unknown target is 500 ERR_DIRECT_INVOKE that names it', async () => {
    await using world = await startInvocation({ via });
    for (const target of ['nobody', 'nobody.default', 'shop.elsewhere', 'a.b.c', '__proto__', 'constructor', 'a%20b']) {
      const answer = await world.send('GET', `/v1.0/invoke/${target}/method/orders`);
      expect(answer.error, target).toEqual([500, 'ERR_DIRECT_INVOKE']);
      expect(answer.json['message']).toContain(decodeURIComponent(target));
    }
    expect(world.app.list).toEqual([]);
  });

  test('an answer of 204 and 304 has no body', async () => {
    await using world = await startInvocation({
      via,
      callee: (req, res) => res.writeHead(Number(req.url?.slice(1)), { etag: '"1"' }).end(),
    });
    for (const status of [204, 304]) {
      const answer = await world.send('GET', `/v1.0/invoke/shop/method/${status}`);
      expect([answer.status, answer.text, answer.headers.etag]).toEqual([status, '', '"1"']);
    }
  });

  test('an answer of 304 may tell the length of what it does not send', async () => {
    await using world = await startInvocation({
      via,
      callee: (_req, res) => res.writeHead(304, { 'content-length': '12345' }).end(),
    });
    const answer = await world.send('GET', '/v1.0/invoke/shop/method/x');
    expect([answer.status, answer.headers['content-length']]).toEqual([304, '12345']);
  });

  test('HEAD is answered with the length of what GET would send', async () => {
    await using world = await startInvocation({
      via,
      callee: (_req, res) => res.writeHead(200, { 'content-length': '12345' }).end(),
    });
    const answer = await world.send('HEAD', '/v1.0/invoke/shop/method/x');
    expect([answer.status, answer.headers['content-length'], answer.text]).toEqual([200, '12345', '']);
  });

  test('a redirect is passed on, not followed', async () => {
    await using world = await startInvocation({
      via,
      callee: (_req, res) => res.writeHead(302, { location: '/elsewhere' }).end(),
    });
    const answer = await world.send('GET', '/v1.0/invoke/shop/method/x');
    expect([answer.status, answer.headers.location, world.app.list.length]).toEqual([302, '/elsewhere', 1]);
  });

  test('an error of the application is passed on as it is', async () => {
    await using world = await startInvocation({ via, callee: (_req, res) => res.writeHead(500).end('broken') });
    const answer = await world.send('GET', '/v1.0/invoke/shop/method/x');
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([500, 'broken', undefined]);
    expect(world.app.list).toHaveLength(1);
  });

  test('an application that breaks off before it answers is 500 ERR_DIRECT_INVOKE, once', async () => {
    let calls = 0;
    await using world = await startInvocation({
      via,
      callee: (_req, res) => {
        calls++;
        res.destroy(new Error('secret at /etc/passwd'));
      },
    });
    const answer = await world.send('POST', '/v1.0/invoke/shop/method/x', { body: 'x' });
    expect(answer.error).toEqual([500, 'ERR_DIRECT_INVOKE']);
    expect(answer.text).not.toContain('secret');
    expect(calls).toBe(1);
  });

  test('the token of the application goes to it, and the one of the API does not', async () => {
    await using world = await startInvocation({ via, apiToken: 'api', appToken: 'app' });
    const headers = { 'sidecar-api-token': 'api' };
    await world.send('GET', '/v1.0/invoke/shop/method/x', { headers });
    expect(world.app.last.headers['sidecar-api-token']).toBe('app');
    expect((await world.send('GET', '/v1.0/invoke/shop/method/x')).error).toEqual([401, 'ERR_UNAUTHORIZED']);
  });
});

describe('the path, as the reference gives it', () => {
  const SAME = [
    ['/v1.0/invoke/shop/method/foo/bar', '/foo/bar'],
    ['/v1.0/invoke/shop/method/foo/', '/foo/'],
    ['/v1.0/invoke/shop/method//foo', '//foo'],
    ['/v1.0/invoke/shop/method/a//b', '/a//b'],
    ['/v1.0/invoke/shop/method/method/foo', '/method/foo'],
    ['/v1.0/invoke/shop.default/method/foo', '/foo'],
    ['//v1.0//invoke//shop/method/foo', '/foo'],
    ['/v1.0/invoke/shop//method/foo', '/foo'],
    ['/v1.0/invoke/sh%6Fp/method/foo', '/foo'],
    ['/v1.0/invoke/shop/method/a%20b', '/a%20b'],
    ['/v1.0/invoke/shop/method/a%2Fb', '/a%2Fb'],
    ['/v1.0/invoke/shop/method/gr%C3%B6%C3%9Fe', '/gr%C3%B6%C3%9Fe'],
    ['/v1.0/invoke/shop/method/a%5Cb%22*', '/a%5Cb%22*'],
    ['/v1.0/invoke/shop/method/a\\b"*', '/a\\b"*'],
    ['/v1.0/invoke/shop/method/a/./b', '/a/./b'],
    ['/v1.0/invoke/shop/method/a..b/...', '/a..b/...'],
    ['/v1.0/invoke/shop/method/x?a=1#', undefined],
    ['/v1.0/invoke/shop/method/x?a=..%2F..&b=%00', '/x?a=..%2F..&b=%00'],
    ['/v1.0/invoke/shop/method/https%253A%252F%252Fh%252Fx%253Fy', '/https%253A%252F%252Fh%252Fx%253Fy'],
  ] as const;

  test.each(SAME)('%s reaches the application as %s', async (path, expected) => {
    await using world = await startInvocation();
    const answer = await world.sidecar.handle(request('GET', path));
    if (expected === undefined) return void expect(answer.status).toBe(400);
    expect(answer.status).toBe(200);
    expect(world.app.last.path).toBe(expected);
  });

  test.each(['process', 'port'] as const)(
    'passes # and ? in escapes on as they came, and an empty query (%s)',
    async (via) => {
      await using world = await startInvocation({ via });
      await using endpoint = await startInvocation({ appId: 'other' });
      const remote = await startInvocation({ via, nameResolution: { static: { other: endpoint.server.url } } });
      await using _remote = remote;
      for (const path of ['/a%23b', '/a%3Fb', '/%3f/c%23?d=%23', '/%23', '/q?', '/a%3F?', '/?']) {
        const byHeader = await world.send('GET', path, { headers: { 'sidecar-app-id': 'shop' } });
        expect([byHeader.status, world.app.last.path]).toEqual([200, path]);
        expect((await world.sidecar.invocation.invoke('shop', path, { method: 'POST', body: 'x' })).status).toBe(200);
        expect(world.app.last.path).toBe(path);
        expect((await remote.sidecar.invocation.invoke('other', path)).status).toBe(200);
        expect(endpoint.app.last.path).toBe(path);
        if (path === '/?') continue;
        expect((await world.send('GET', `/v1.0/invoke/shop/method${path}`)).status).toBe(200);
        expect(world.app.last.path).toBe(path);
      }
    },
  );

  test('a fetch function gets # and ? in escapes, and an empty query, as they came', async () => {
    const urls: string[] = [];
    const app = {
      fetch: (web: Request) => {
        if (new URL(web.url).pathname === '/sidecar/config') return new Response(null, { status: 404 });
        return new Response(String(urls.push(web.url)));
      },
    };
    await using sidecar = new Sidecar({ appId: 'shop', app });
    await sidecar.start();
    for (const path of ['/a%23b', '/a%3Fb?', '/q?']) await sidecar.invocation.invoke('shop', path);
    expect(urls).toEqual(['http://127.0.0.1/a%23b', 'http://127.0.0.1/a%3Fb?', 'http://127.0.0.1/q?']);
  });

  test.each([
    '/a/../b',
    '/../../b',
    '/..',
    '/a/..',
    '/..;x/b',
    '/a/..\\b',
    '/a\\..\\b',
    '/a/%2e%2e/b',
    '/a/.%2E/b',
    '/a%2F..%2Fb',
    '/admin%2F..%2Fpublic',
    '/a%5C..%5Cb',
    '/a/%252e%252e/b',
    '/a%252F..%252Fb',
    '/a/%25252e%25252e/b',
    '/a%00b',
    '/a%2500b',
    '/a%0d%0aX-Evil:%201',
    '/a%09b',
    '/a%7fb',
    `/a%${'25'.repeat(9)}b`,
  ])('%s is 400 ERR_DIRECT_INVOKE before anything is called', async (path) => {
    await using world = await startInvocation();
    const byPath = await world.send('GET', `/v1.0/invoke/shop/method${path}`);
    const byHeader = await world.send('GET', path, { headers: { 'sidecar-app-id': 'shop' } });
    for (const answer of [byPath, byHeader]) expect(answer.error).toEqual([400, 'ERR_DIRECT_INVOKE']);
    await expect(world.sidecar.invocation.invoke('shop', path)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      status: 400,
    });
    expect(world.app.list).toEqual([]);
  });

  test.each(['/a%zz', '/a%', '/a%c0%ae%c0%ae/b', '/%ff', '/%ED%A0%80'])(
    '%s does not decode: 400 ERR_BAD_REQUEST',
    async (path) => {
      await using world = await startInvocation();
      const answer = await world.send('GET', `/v1.0/invoke/shop/method${path}`);
      expect(answer.error).toEqual([400, 'ERR_BAD_REQUEST']);
      expect(world.app.list).toEqual([]);
    },
  );

  test.each(['/a b', '/a\tb', '/a\u0000b', '/a\r\nx: y', '/a#b', '/☃'])(
    '%j, which no HTTP parser lets through, is refused when it comes without one',
    async (path) => {
      await using world = await startInvocation();
      const answer = await world.sidecar.handle(request('GET', `/v1.0/invoke/shop/method${path}`));
      expect(answer.status).toBe(400);
      const query = await world.sidecar.handle(request('GET', `/v1.0/invoke/shop/method/x?${path}`));
      expect(query.status).toBe(400);
      expect(world.app.list).toEqual([]);
    },
  );
});

describe('the own namespace', () => {
  test('is an option, a part of the own name, and told to the application', async () => {
    await using world = await startInvocation({ namespace: 'near' });
    expect((await world.send('GET', '/v1.0/invoke/shop.near/method/x')).status).toBe(200);
    expect(world.app.last.headers['sidecar-caller-namespace']).toBe('near');
    expect((await world.send('GET', '/v1.0/invoke/shop.default/method/x')).status).toBe(500);
  });

  test.each<[variable: string | undefined, namespace: string]>([
    ['far', 'far'],
    ['', 'default'],
    [undefined, 'default'],
  ])('is %j of the environment, else the default', (variable, namespace) => {
    const environment = variable === undefined ? {} : { NAMESPACE: variable };
    expect(resolveOptions({ appId: 'shop' }, environment).namespace).toBe(namespace);
    expect(resolveOptions({ appId: 'shop', namespace: 'near' }, environment).namespace).toBe('near');
  });

  test('that cannot be a part of a name is refused', () => {
    expect(() => resolveOptions({ appId: 'shop' }, { NAMESPACE: 'a.b' })).toThrow('options.namespace');
  });
});

describe('addressing by header and by basic credentials', () => {
  const basic = (user: string, password: string): string =>
    `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

  test.each<[name: WireName]>([['sidecar'], ['dapr']])('any path that no route has, with wire %s', async (wire) => {
    await using world = await startInvocation({ wire });
    for (const path of ['/', '///foo//bar', '/orders/1?a=b', '/v1.0/unknown', '/v2.0/publish/x/y']) {
      expect((await world.send('PUT', path, { headers: { [`${wire}-app-id`]: 'shop' } })).status, path).toBe(200);
      expect(world.app.last.path).toBe(path);
      expect(world.app.last.headers[`${wire}-app-id`]).toBeUndefined();
      const authorization = basic(`${wire.toUpperCase()}-App-ID`, 'shop');
      expect((await world.send('PUT', path, { headers: { authorization } })).status, path).toBe(200);
      expect([world.app.last.path, world.app.last.headers.authorization]).toEqual([path, undefined]);
    }
  });

  test('an application that has the sidecar mounted in itself is called once', async () => {
    const app = express();
    let calls = 0;
    const sidecar = new Sidecar({ appId: 'shop', app: { listener: app } });
    app.use(expressHandler(sidecar, { fallthrough: true }));
    app.use((_req, res) => {
      calls++;
      res.end('here');
    });
    await sidecar.start();
    calls = 0;
    await using server = await listen(app);
    const credentials = { authorization: basic('sidecar-app-id', 'shop') };
    for (const headers of [credentials, { 'sidecar-app-id': 'shop' }])
      expect((await send(server.url, 'POST', '/x', { headers })).text).toBe('here');
    const path = '/v1.0/invoke/shop/method/x';
    expect((await send(server.url, 'POST', path, { headers: credentials })).text).toBe('here');
    expect(calls).toBe(3);
    await sidecar.stop();
  });

  test('the header beats the credentials, and a route beats both', async () => {
    await using world = await startInvocation();
    const authorization = basic('sidecar-app-id', 'nobody');
    const headers = { 'sidecar-app-id': 'shop', authorization };
    expect((await world.send('GET', '/x', { headers })).status).toBe(200);
    expect((await world.send('GET', '/v1.0/healthz', { headers })).status).toBe(204);
    expect((await world.send('DELETE', '/v1.0/metadata', { headers })).status).toBe(405);
    const path = '/v1.0/invoke/shop/method/y';
    expect((await world.send('GET', path, { headers: { 'sidecar-app-id': 'nobody' } })).status).toBe(200);
    expect(world.app.list.map((call) => call.path)).toEqual(['/x', '/y']);
  });

  test.each([
    { 'sidecar-app-id': '' },
    { authorization: basic('somebody', 'shop') },
    { authorization: basic('sidecar-app-id', '') },
    { authorization: basic('sidecar-app-id', 'shop:more') },
    { authorization: 'Basic %%%' },
    { authorization: 'Bearer sidecar-app-id:shop' },
    { 'dapr-app-id': 'shop' },
  ])('%j addresses nobody: 404 ERR_NOT_FOUND', async (headers) => {
    await using world = await startInvocation();
    expect((await world.send('GET', '/x', { headers: headers as Record<string, string> })).error).toEqual([
      404,
      'ERR_NOT_FOUND',
    ]);
    expect(world.app.list).toEqual([]);
  });

  test('the API token is asked for', async () => {
    await using world = await startInvocation({ apiToken: 'api' });
    const headers = { 'sidecar-app-id': 'shop' };
    expect((await world.send('GET', '/x', { headers })).error).toEqual([401, 'ERR_UNAUTHORIZED']);
    expect(world.app.list).toEqual([]);
  });

  test('the request target * is no path; a whole URL is taken for its path', async () => {
    await using world = await startInvocation();
    const head = ['host: a', 'sidecar-app-id: shop', 'connection: close', '', ''];
    expect(await world.raw('OPTIONS * HTTP/1.1', ...head)).toMatch(/^HTTP\/1\.1 400 /);
    expect(world.app.list).toEqual([]);
    for (const path of ['/v1.0/invoke/shop/method/x', '/v1.0/invoke/http%3A%2F%2Fa/method/../x', '/x//%2f?y=1'])
      await world.raw(`GET http://other.example${path} HTTP/1.1`, ...head);
    expect(world.app.list.map(({ path, headers }) => [path, headers['sidecar-callee-app-id']])).toEqual([
      ['/x', 'shop'],
      ['/x//%2f?y=1', 'shop'],
    ]);
  });
});

describe('mounted below a prefix', () => {
  const addressed = { headers: { 'sidecar-app-id': 'shop' } };

  test('a call by header is cut like any other; what lies outside is no call of the root', async () => {
    await using world = await startInvocation();
    await using server = await listen(nodeHandler(world.sidecar, { prefix: '/internal' }));
    const ask = (path: string): Promise<Answer> => send(server.url, 'GET', path, addressed);
    for (const [path, seen] of [
      ['/internal', '/'],
      ['/internal?a=1', '/?a=1'],
      ['/internal//x/', '//x/'],
    ] as const) {
      expect((await ask(path)).status, path).toBe(200);
      expect(world.app.last.path).toBe(seen);
    }
    const { length } = world.app.list;
    for (const path of ['/', '/x', '/internals', '/intern'])
      expect((await ask(path)).error, path).toEqual([404, 'ERR_NOT_FOUND']);
    const fetched = await fetchHandler(world.sidecar, { prefix: '/internal' })(new Request('http://h/x', addressed));
    expect(fetched.status).toBe(404);
    expect(world.app.list).toHaveLength(length);
  });

  test('with fallthrough, only what is addressed is kept from the application behind', async () => {
    await using world = await startInvocation();
    const listener = nodeHandler(world.sidecar, { fallthrough: true });
    await using server = await listen((req, res) => listener(req, res, () => res.writeHead(299).end()));
    expect((await send(server.url, 'GET', '/x')).status).toBe(299);
    expect((await send(server.url, 'GET', '/x', addressed)).status).toBe(200);
  });
});

describe('services without a sidecar', () => {
  test('a URL is no target when it may not be one, in whatever form; HTTP endpoints still are', async () => {
    await using service = await listen((_req, res) => res.end('answered'));
    await using world = await startInvocation({
      invocation: { urls: false },
      httpEndpoints: [{ name: 'service', baseUrl: service.url }],
    });
    const refused = [400, 'ERR_DIRECT_INVOKE'];
    for (const target of [service.url, encodeURIComponent(service.url), service.url.toUpperCase()])
      expect((await world.send('GET', `/v1.0/invoke/${target}/method/x`)).error, target).toEqual(refused);
    const addressed = { headers: { 'sidecar-app-id': service.url } };
    expect((await world.send('GET', '/x', addressed)).error).toEqual(refused);
    expect((await world.send('GET', '/v1.0/invoke/service/method/x')).text).toBe('answered');
  });

  test('a URL, escaped or not, with a path in front of the method', async () => {
    await using world = await startInvocation();
    await using service = await listen((req, res) => res.end(`${req.method} ${req.url} ${req.headers.host}`));
    const host = `127.0.0.1:${service.port}`;
    for (const [target, path] of [
      [service.url, '/x/y?z=1'],
      [encodeURIComponent(service.url), '/x/y?z=1'],
      [`${service.url}/base`, '/base/x/y?z=1'],
      [`${service.url}/base/`, '/base/x/y?z=1'],
      [service.url.toUpperCase(), '/x/y?z=1'],
    ] as const) {
      const answer = await world.send('GET', `/v1.0/invoke/${target}/method/x/y?z=1`);
      expect(answer.text, target).toBe(`GET ${path} ${host}`);
      expect(
        await (
          await world.sidecar.invocation.invoke(target.includes('%') ? service.url : target, 'x/y?z=1', {
            method: 'get',
          })
        ).text(),
      ).toBe(`GET ${path} ${host}`);
    }
  });

  test.each([
    'http://u:p@h',
    'http://h?x',
    'http://h%23x',
    'http://',
    'https://h/a/../b',
    'http://h\\x',
    'http://h:99999',
  ])('the URL %s is refused with 400', async (target) => {
    await using world = await startInvocation();
    const answer = await world.send('GET', `/v1.0/invoke/${encodeURIComponent(target)}/method/x`);
    expect(answer.error).toEqual([400, 'ERR_DIRECT_INVOKE']);
    expect(answer.text).not.toContain('u:p');
  });

  test('http:/h with one slash is no URL', async () => {
    await using world = await startInvocation();
    expect((await world.send('GET', '/v1.0/invoke/http:/h:8080/method/foo')).error).toEqual([500, 'ERR_DIRECT_INVOKE']);
  });

  test('an HTTP endpoint goes before an app ID, sets its header fields, and is told nothing of ours', async () => {
    let seen: unknown;
    await using service = await listen((req, res) => {
      seen = [req.url, req.headers];
      res.writeHead(301, { location: '/other' }).end();
    });
    const endpoint = { name: 'shop', baseUrl: `${service.url}/v2/`, headers: { Authorization: 'Bearer endpoint' } };
    await using world = await startInvocation({ httpEndpoints: [endpoint], appToken: 'app-secret' });
    const headers = {
      authorization: 'Bearer caller',
      'sidecar-caller-app-id': 'evil',
      'sidecar-callee-app-id': 'evil',
      'sidecar-api-token': 'x',
      accept: 'a/b',
    };
    const answer = await world.send('GET', '/v1.0/invoke/shop/method/orders?q=1', { headers });
    expect([answer.status, answer.headers.location]).toEqual([301, '/other']);
    expect(seen).toEqual([
      '/v2/orders?q=1',
      { host: `127.0.0.1:${service.port}`, connection: 'keep-alive', authorization: 'Bearer endpoint', accept: 'a/b' },
    ]);
  });

  test('metadata tells the names of HTTP endpoints', async () => {
    await using world = await startInvocation({ httpEndpoints: [{ name: 'api', baseUrl: 'http://h' }] });
    expect((await world.send('GET', '/v1.0/metadata')).json['httpEndpoints']).toEqual([{ name: 'api' }]);
  });

  test('an endpoint name may have dots', async () => {
    await using service = await listen((_req, res) => res.end('here'));
    await using world = await startInvocation({ httpEndpoints: [{ name: 'api.example.com', baseUrl: service.url }] });
    expect((await world.send('GET', '/v1.0/invoke/api.example.com/method/x')).text).toBe('here');
  });

  test.each([
    [{ name: 'a', baseUrl: 'ftp://h' }, 'baseUrl'],
    [{ name: 'a', baseUrl: 'http://u:secret@h' }, 'baseUrl'],
    [{ name: '', baseUrl: 'http://h' }, 'name'],
    [{ name: 'a', baseUrl: 'http://h', headers: { authorization: ['secret'] } }, 'authorization'],
    [{ name: 'a', baseUrl: 'http://h', clientTLS: { privateKey: { secret: 1 } } }, 'privateKey'],
  ])('%j is refused, naming %s and no value', async (endpoint, field) => {
    const starting = startInvocation({ httpEndpoints: [endpoint as never] });
    await expect(starting).rejects.toMatchObject({ code: 'ERR_CONFIGURATION' });
    await expect(starting).rejects.toThrow(field);
    await expect(starting).rejects.not.toThrow('secret');
  });

  test('a target that cannot be reached is tried four times, a second apart, and then 500', async () => {
    const port = await freePort();
    await using world = await startInvocation();
    const asked = world.send('POST', `/v1.0/invoke/http://127.0.0.1:${port}/method/x`, { body: 'x' });
    let answered = false;
    void asked.then(() => {
      answered = true;
    });
    const startedAt = world.clock.now();
    while (!answered) {
      await world.clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const answer = await asked;
    expect(answer.error).toEqual([500, 'ERR_DIRECT_INVOKE']);
    expect(answer.json['message']).toContain('ECONNREFUSED');
    expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual(3_000);
  });
});

describe('what is not offered', () => {
  test('an upgrade is 501, the offer of HTTP/2 is ignored', async () => {
    await using world = await startInvocation();
    const path = '/v1.0/invoke/shop/method/x';
    const ask = (...fields: string[]): Promise<string> =>
      world.raw(`GET ${path} HTTP/1.1`, 'host: a', ...fields, '', '');
    const answer = await ask('connection: close, Upgrade', 'upgrade: websocket');
    expect(answer).toMatch(/^HTTP\/1\.1 501 /);
    expect(answer).toContain('ERR_DIRECT_INVOKE');
    expect(world.app.list).toEqual([]);
    expect(await ask('connection: close, upgrade, http2-settings', 'upgrade: h2c', 'http2-settings: AAA')).toMatch(
      /^HTTP\/1\.1 200 /,
    );
    expect(Object.keys(world.app.last.headers)).not.toContain('upgrade');
    expect(Object.keys(world.app.last.headers)).not.toContain('http2-settings');
  });

  test.each(['CONNECT', 'FOO', 'GET / HTTP/1.1\r\nx:'])('method %j is 501', async (method) => {
    await using world = await startInvocation();
    const answer = await world.sidecar.handle(request(method, '/v1.0/invoke/shop/method/x'));
    expect(answer.status).toBe(501);
    await expect(world.sidecar.invocation.invoke('shop', 'x', { method })).rejects.toMatchObject({ status: 501 });
    expect(world.app.list).toEqual([]);
  });
});

describe('in code', () => {
  test('invoke takes query, body, header fields, and reads the answer', async () => {
    await using world = await startInvocation({
      callee: (req, res, body) => res.writeHead(201).end(JSON.stringify({ url: req.url, body: body.toString() })),
    });
    const { invocation } = world.sidecar;
    const reply = await invocation.invoke('shop', 'größe/1?a=1', {
      method: 'post',
      body: { id: 1 },
      query: { 'b c': 'ü&' },
      headers: { 'X-Mine': '1' },
    });
    expect([reply.status, reply.ok]).toEqual([201, true]);
    expect(await reply.json()).toEqual({ url: '/gr%C3%B6%C3%9Fe/1?a=1&b+c=%C3%BC%26', body: '{"id":1}' });
    expect([world.app.last.method, world.app.last.headers['x-mine']]).toEqual(['POST', '1']);
    expect(world.app.last.headers['content-type']).toBe('application/json');
  });

  test('an answer that is too long or no JSON is an error that says so', async () => {
    await using world = await startInvocation({ callee: (_req, res) => res.end('not JSON') });
    const ask = (): ReturnType<typeof world.sidecar.invocation.invoke> => world.sidecar.invocation.invoke('shop', '/x');
    await expect((await ask()).json()).rejects.toMatchObject({ code: 'ERR_DIRECT_INVOKE' });
  });

  test('header fields that HTTP cannot carry are refused with 400', async () => {
    await using world = await startInvocation();
    for (const headers of [{ 'x-a': 'b\r\nx-evil: 1' }, { 'x a': '1' }, { 'x-a': '☃' }, { 'x-a\r\nb': '1' }])
      await expect(
        world.sidecar.invocation.invoke('shop', '/x', { headers: headers as Record<string, string> }),
      ).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT', status: 400 });
    expect(world.app.list).toEqual([]);
  });

  test('a sidecar that does not run takes no call', async () => {
    const world = await startInvocation();
    await world[Symbol.asyncDispose]();
    await expect(world.sidecar.invocation.invoke('shop', '/x')).rejects.toMatchObject({
      code: 'ERR_SHUTTING_DOWN',
    });
  });

  test('events tell of every call, without an answer with status 0', async () => {
    await using world = await startInvocation();
    const told: unknown[] = [];
    world.sidecar.events.on('invocationEnded', (info) => told.push(info));
    await world.send('PUT', '/v1.0/invoke/shop/method/x');
    await world.sidecar.invocation.invoke('nobody', '/x').catch(() => undefined);
    expect(told).toEqual([
      {
        direction: 'in',
        target: 'shop',
        caller: 'shop',
        method: 'PUT',
        path: '/x',
        status: 200,
        attempts: 1,
        durationMs: 0,
      },
      { direction: 'out', target: 'nobody', method: 'GET', path: '/x', status: 0, attempts: 1, durationMs: 0 },
    ]);
  });

  test('without an application its own ID is 500', async () => {
    await using world = await startInvocation({ via: 'nowhere' });
    const answer = await world.send('GET', '/v1.0/invoke/shop/method/x');
    expect(answer.error).toEqual([500, 'ERR_DIRECT_INVOKE']);
  });
});
