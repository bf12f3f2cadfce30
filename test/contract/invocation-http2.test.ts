import { type ClientHttp2Session, connect, createServer, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { nodeListener } from '../../src/index.ts';
import { startInvocation } from '../support/invocation-world.ts';
import { WAYS } from '../support/served.ts';

interface Http2Answer {
  readonly status: number | undefined;
  readonly text: string;
}

/** A server of HTTP/2 without TLS, and a session with it. */
async function http2Session(listener: ReturnType<typeof nodeListener>) {
  const server = createServer((req, res) => listener(req as never, res as never));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const close = async (): Promise<void> => {
    await new Promise<void>((resolve) => session.close(resolve));
    await new Promise((resolve) => server.close(resolve));
  };
  return { session, [Symbol.asyncDispose]: close };
}

function ask(session: ClientHttp2Session, headers: IncomingHttpHeaders, body?: string): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined });
    let status: number | undefined;
    const parts: Buffer[] = [];
    stream.on('response', (fields) => {
      status = fields[':status'];
    });
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => resolve({ status, text: Buffer.concat(parts).toString() }));
    stream.on('error', reject);
    if (body !== undefined) stream.end(body);
  });
}

test('behind a server of HTTP/2, a GET reaches a fetch function, one with a body is 501', async () => {
  await using world = await startInvocation({ app: { fetch: ({ method }) => new Response(method) } });
  await using http2 = await http2Session(nodeListener(world.sidecar));
  const get = { ':method': 'GET', ':path': '/v1.0/invoke/shop/method/x' };
  expect(await ask(http2.session, get)).toEqual({ status: 200, text: 'GET' });
  expect((await ask(http2.session, get, '')).status).toBe(200);
  expect((await ask(http2.session, get, 'hello')).status).toBe(501);
});

describe.each(WAYS)('behind a server of HTTP/2 (%s)', (via) => {
  test.each<[what: string, headers: IncomingHttpHeaders, body: string | undefined, url: string]>([
    ['a POST with a body', { ':method': 'POST', ':path': '/v1.0/invoke/shop/method/x?a=b' }, 'hello', '/x?a=b'],
    ['a GET', { ':method': 'GET', ':path': '/v1.0/invoke/shop/method/x' }, undefined, '/x'],
    ['the header form', { ':method': 'PUT', ':path': '/y', 'sidecar-app-id': 'shop' }, 'hello', '/y'],
  ])('%s reaches the application, without the fields that begin with a colon', async (_what, headers, body, url) => {
    await using world = await startInvocation({ via });
    await using http2 = await http2Session(nodeListener(world.sidecar));
    const answer = await ask(http2.session, { ...headers, 'x-own': 'kept' }, body);
    expect(answer).toEqual({ status: 200, text: 'answered' });
    const { last } = world.app;
    expect([last.method, last.path, last.text]).toEqual([headers[':method'], url, body ?? '']);
    expect(last.headers['x-own']).toBe('kept');
    expect(Object.keys(last.headers).filter((name) => name.startsWith(':'))).toEqual([]);
  });
});
