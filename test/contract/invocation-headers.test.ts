import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import type { WireName } from '../../src/index.ts';
import { bytesOf } from '../../src/kit/adapter-case.ts';
import { RawClient } from '../../src/kit/adapter-client.ts';
import { listen } from '../support/http.ts';
import { startInvocation } from '../support/invocation-world.ts';
import { WAYS } from '../support/served.ts';

const PATH = '/v1.0/invoke/shop/method/x';

/** What an application in this process gets in addition. */
const MARK = { port: {}, process: { 'insidecar-call': expect.any(String) } };

describe.each(WAYS)('header fields of the request (%s)', (via) => {
  test('are passed on, those of one connection and those nominated are not', async () => {
    await using world = await startInvocation({
      via,
      allowedHosts: ['front.example'],
      cors: { origins: ['http://x'] },
    });
    await world.raw(
      `POST ${PATH} HTTP/1.1`,
      'Host: front.example',
      'Connection: close, X-Nominated, Cookie2',
      'X-Nominated: 1',
      'Cookie2: 1',
      'Keep-Alive: timeout=5',
      'Proxy-Connection: keep-alive',
      'Proxy-Authorization: Basic eA==',
      'Proxy-Authenticate: Basic',
      'TE: trailers',
      'Trailer: x-t',
      'Transfer-Encoding: chunked',
      'Expect: 100-continue',
      'Authorization: Bearer caller',
      'Cookie: a=1',
      'Cookie: b=2',
      'Accept: text/html',
      'Accept-Encoding: br',
      'Origin: http://x',
      'User-Agent: me',
      'X-Forwarded-For: 1.2.3.4',
      'X-List: 1',
      'X-List: 2',
      'X-Bin: raw',
      'Grpc-Timeout: 1S',
      'Content-Type: text/plain; charset=utf-8',
      'Traceparent: 00-1-2-03',
      '__proto__: x',
      '',
      '2',
      'hi',
      '0',
      '',
      '',
    );
    const { host, 'content-length': length, 'transfer-encoding': coding, connection, ...rest } = world.app.last.headers;
    expect(rest).toEqual({
      authorization: 'Bearer caller',
      cookie: 'a=1; b=2',
      accept: 'text/html',
      'accept-encoding': 'br',
      origin: 'http://x',
      'user-agent': 'me',
      'x-forwarded-for': '1.2.3.4',
      'x-list': '1, 2',
      'x-bin': 'raw',
      'grpc-timeout': '1S',
      'content-type': 'text/plain; charset=utf-8',
      traceparent: '00-1-2-03',
      'sidecar-caller-app-id': 'shop',
      'sidecar-caller-namespace': 'default',
      'sidecar-callee-app-id': 'shop',
      ...MARK[via],
    });
    expect(host).not.toContain('front.example');
    expect([undefined, 'keep-alive']).toContain(connection);
    expect([length, coding]).toEqual([undefined, 'chunked']);
    expect(world.app.last.text).toBe('hi');
  });

  test('nothing is added to a bare request but who calls, and in this process the mark of the call', async () => {
    await using world = await startInvocation({ via });
    await world.raw(`GET ${PATH} HTTP/1.1`, 'host: a', 'connection: close', '', '');
    const { host, connection, ...rest } = world.app.last.headers;
    expect(rest).toEqual({
      'sidecar-caller-app-id': 'shop',
      'sidecar-caller-namespace': 'default',
      'sidecar-callee-app-id': 'shop',
      ...MARK[via],
    });
  });

  test('names beyond ASCII are percent-encoded', async () => {
    await using world = await startInvocation({ via, appId: '店', namespace: 'café' });
    expect((await world.send('GET', `/v1.0/invoke/${encodeURIComponent('店')}/method/x`)).status).toBe(200);
    expect(world.app.last.headers).toMatchObject({
      'sidecar-caller-app-id': '%E5%BA%97',
      'sidecar-caller-namespace': 'caf%C3%A9',
      'sidecar-callee-app-id': '%E5%BA%97',
    });
  });

  test.each<[WireName]>([['sidecar'], ['dapr']])('copies of ours are not believed, with wire %s', async (wire) => {
    await using world = await startInvocation({ via, wire });
    const names = ['caller-app-id', 'caller-namespace', 'callee-app-id', 'api-token', 'app-id'];
    const headers = Object.fromEntries(names.map((name) => [`${wire}-${name}`.toUpperCase(), 'evil']));
    await world.send('GET', PATH, { headers });
    expect(Object.values(world.app.last.headers)).not.toContain('evil');
    expect(world.app.last.headers[`${wire}-caller-app-id`]).toBe('shop');
  });

  test('a field whose name every object has is a field like any other', async () => {
    await using world = await startInvocation({ via });
    await world.send('GET', '/v1.0/invoke/shop/method/x', { headers: { constructor: 'a', hasOwnProperty: 'b' } });
    expect(world.app.last.headers).toMatchObject({ constructor: 'a', hasownproperty: 'b' });
  });

  test('the length of a body is told, and of none is not', async () => {
    await using world = await startInvocation({ via });
    for (const [length, told] of [
      [5, '5'],
      [64 * 1024, '65536'],
      [100 * 1024, via === 'port' ? '102400' : undefined],
    ] as const) {
      await world.send('PUT', PATH, { body: Buffer.alloc(length, 'x') });
      expect([world.app.last.headers['content-length'], world.app.last.bytes.length]).toEqual([told, length]);
    }
    await world.send('DELETE', PATH);
    expect(world.app.last.headers['content-length']).toBeUndefined();
  });
});

describe.each(WAYS)('header fields of the answer (%s)', (via) => {
  test('are passed on, those of one connection and those nominated are not', async () => {
    await using world = await startInvocation({
      via,
      callee: (_req, res) => {
        res.setHeader('set-cookie', ['a=1', 'b=2']);
        res.setHeader('x-list', ['1', '2']);
        res.setHeader('connection', 'x-nominated, keep-alive');
        res.setHeader('x-nominated', '1');
        res.setHeader('keep-alive', 'timeout=99');
        res.setHeader('proxy-authenticate', 'Basic');
        res.setHeader('te', 'x');
        res.setHeader('cache-control', 'no-store');
        res.setHeader('x-latin', 'caf\xe9');
        res.setHeader('x-powered-by', 'y');
        res.end(Buffer.from('body'));
      },
    });
    const { headers } = await world.send('GET', PATH, { headers: { connection: 'close' } });
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect([headers['x-list'], headers['x-latin'], headers['cache-control'], headers['x-powered-by']]).toEqual([
      '1, 2',
      'caf\xe9',
      'no-store',
      'y',
    ]);
    expect([headers['content-length'], headers.connection]).toEqual(['4', 'close']);
    for (const name of ['x-nominated', 'keep-alive', 'proxy-authenticate', 'te'])
      expect(headers).not.toHaveProperty(name);
  });

  test('a compressed body stays as it is', async () => {
    const bytes = Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]);
    await using world = await startInvocation({
      via,
      callee: (_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(bytes),
    });
    const answer = await world.send('GET', PATH);
    expect([answer.headers['content-encoding'], answer.bytes]).toEqual(['gzip', bytes]);
  });
});

describe('requests that mean two things', () => {
  test.each<[what: string, lines: readonly string[]]>([
    ['two lengths', ['Content-Length: 3', 'Content-Length: 5', '', 'abc']],
    ['two lengths in one field', ['Content-Length: 3, 5', '', 'abc']],
    ['a length and chunks', ['Content-Length: 3', 'Transfer-Encoding: chunked', '', '0', '', '']],
    ['chunks and a length', ['Transfer-Encoding: chunked', 'Content-Length: 3', '', '0', '', '']],
    ['a length that is no number', ['Content-Length: +3', '', 'abc']],
    ['a negative length', ['Content-Length: -1', '', '']],
    ['a length in hexadecimal', ['Content-Length: 0x3', '', 'abc']],
    ['a coding that is not known', ['Transfer-Encoding: gzip, chunked', '', '0', '', '']],
    ['chunks that are not last', ['Transfer-Encoding: chunked, identity', '', '0', '', '']],
    ['a coding twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked', '', '0', '', '']],
    ['a hidden coding', ['Transfer-Encoding: xchunked', '', '0', '', '']],
    ['a space before the colon', ['X-A : 1', '', '']],
    ['a folded line', ['X-A: 1', ' folded: 2', '', '']],
    ['a bare line feed', ['X-A: 1\nX-B: 2', '', '']],
    ['a NUL', ['X-A: a\0b', '', '']],
    ['a chunk length that is none', ['Transfer-Encoding: chunked', '', 'zz', 'abc', '0', '', '']],
  ])('%s: refused, and nothing is smuggled to the target', async (_, lines) => {
    await using world = await startInvocation({ via: 'port' });
    const smuggled = 'GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n';
    using client = new RawClient(world.server.url);
    client.send(`POST ${PATH} HTTP/1.1`, 'host: a', 'connection: close', ...lines);
    client.send(smuggled);
    const answer = await client.all();
    expect(answer).toMatch(/^HTTP\/1\.1 (400|500|501) /);
    expect(world.app.list).toEqual([]);
  });

  test.each<[headers: Record<string, string | readonly string[]>]>([
    [{ 'content-length': '3', 'transfer-encoding': 'chunked' }],
    [{ 'content-length': ['3', '3'] }],
    [{ 'content-length': '3, 3' }],
    [{ 'content-length': 'x' }],
    [{ 'transfer-encoding': 'gzip' }],
    [{ 'x-a': 'b\r\nTransfer-Encoding: chunked' }],
    [{ 'x-a': ['b', 'c\nd'] }],
    [{ 'x:a': '1' }],
    [{ '': '1' }],
  ])('%j, which came without a parser, is 400', async (headers) => {
    await using world = await startInvocation();
    const answer = await world.sidecar.handle(request('POST', PATH, { headers, body: 'abc' }));
    expect(answer.status).toBe(400);
    expect(world.app.list).toEqual([]);
  });

  test('a length that is not that of the body does not reach the target', async () => {
    await using service = await listen((req, res) => void req.pipe(res));
    await using world = await startInvocation();
    const path = `/v1.0/invoke/${service.url}/method/x`;
    const answer = await world.sidecar.handle(
      request('POST', path, { headers: { 'content-length': '99' }, body: 'abc' }),
    );
    expect([answer.status, (await bytesOf(answer.body)).toString()]).toEqual([200, 'abc']);
  });

  test('an encoded line break in a path, query or target makes no header field', async () => {
    await using world = await startInvocation({ via: 'port' });
    await world.send('GET', '/v1.0/invoke/shop/method/x?a=%0d%0aX-Evil:%201');
    expect(world.app.last.headers['x-evil']).toBeUndefined();
    expect((await world.send('GET', '/v1.0/invoke/shop%0d%0aX-Evil:%201/method/x')).status).toBe(500);
    const url = encodeURIComponent('http://127.0.0.1:1/\r\nX-Evil: 1');
    expect((await world.send('GET', `/v1.0/invoke/${url}/method/x`)).status).toBe(400);
  });
});
