import { type ClientHttp2Session, constants, type IncomingHttpHeaders } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { nodeHandler } from '../../src/index.ts';
import { gate } from '../../src/kit/adapter-case.ts';
import { ask, http2Session } from '../support/http2.ts';
import { startInvocation } from '../support/invocation-world.ts';
import { WAYS } from '../support/served.ts';

const CALL = { ':method': 'POST', ':path': '/v1.0/invoke/shop/method/x' };

/** Sends the beginning of a body, and goes when the application has got it: the connection is cut. */
async function cutOff(
  session: ClientHttp2Session,
  headers: IncomingHttpHeaders,
  begun: Promise<unknown>,
): Promise<void> {
  const stream = session
    .on('error', () => undefined)
    .request(headers)
    .on('error', () => undefined);
  stream.write('some');
  await begun;
  // Not while it reads: a session of Node 20 that is destroyed then may damage the memory of its process.
  await nextTurn();
  session.destroy();
}

test('behind a server of HTTP/2, a GET reaches a fetch function, one with a body is 501', async () => {
  await using world = await startInvocation({ app: { fetch: ({ method }) => new Response(method) } });
  await using http2 = await http2Session(nodeHandler(world.sidecar));
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
    await using http2 = await http2Session(nodeHandler(world.sidecar));
    const answer = await ask(http2.session, { ...headers, 'x-own': 'kept' }, body);
    expect(answer).toEqual({ status: 200, text: 'answered' });
    const { last } = world.app;
    expect([last.method, last.path, last.text]).toEqual([headers[':method'], url, body ?? '']);
    expect(last.headers['x-own']).toBe('kept');
    expect(Object.keys(last.headers).filter((name) => name.startsWith(':'))).toEqual([]);
  });

  test('a caller that goes before there is an answer ends the call', async () => {
    const [reached, ended] = [gate(), gate()];
    await using world = await startInvocation({
      via,
      listener: (_req, res) => {
        res.once('close', () => ended.open());
        reached.open();
      },
    });
    await using http2 = await http2Session(nodeHandler(world.sidecar));
    const stream = http2.session.request({ ...CALL, ':method': 'GET' }).on('error', () => undefined);
    await reached.opened;
    stream.close(constants.NGHTTP2_CANCEL);
    await expect(ended.opened).resolves.toBeUndefined();
  });

  test('a caller that goes in the middle of its body ends the call, and the target hears of no complete one', async () => {
    const [reached, broken] = [gate(), gate<string>()];
    await using world = await startInvocation({
      via,
      listener: (req) => {
        req.on('end', () => broken.open('complete'));
        req.on('close', () => broken.open('broken'));
        req.on('error', () => broken.open('broken'));
        req.once('data', () => reached.open());
      },
    });
    await using http2 = await http2Session(nodeHandler(world.sidecar));
    await cutOff(http2.connectAnew(), CALL, reached.opened);
    expect(await broken.opened).toBe('broken');
  });

  test('a caller that goes while its call waits for its turn does not reach the target', async () => {
    const [reached, goOn, paths] = [gate(), gate(), [] as (string | undefined)[]];
    await using world = await startInvocation({
      via,
      treatment: { maxConcurrency: 1 },
      listener: ({ url }, res) => {
        paths.push(url);
        reached.open();
        void goOn.opened.then(() => res.end('answered'));
      },
    });
    await using http2 = await http2Session(nodeHandler(world.sidecar));
    const first = ask(http2.session, CALL, '');
    await reached.opened;
    const waiting = http2.connectAnew();
    await cutOff(waiting, { ...CALL, ':path': `${CALL[':path']}/cut` }, ask(waiting, { ':path': '/v1.0/healthz' }));
    await expect.poll(() => world.sidecar.answers.underWay).toBe(1);
    goOn.open();
    expect(await first).toEqual({ status: 200, text: 'answered' });
    expect((await ask(http2.session, CALL, '')).text).toBe('answered');
    expect(paths).toEqual(['/x', '/x']);
  });

  test('a long answer to a caller that has gone holds no place', async () => {
    const [reached, goOn] = [gate(), gate()];
    await using world = await startInvocation({
      via,
      treatment: { maxConcurrency: 1 },
      listener: ({ url }, res) => {
        reached.open();
        if (url === '/x/long') void goOn.opened.then(() => res.end(Buffer.alloc(1024 * 1024)));
        else res.end('answered');
      },
    });
    await using http2 = await http2Session(nodeHandler(world.sidecar));
    const long = http2.session.request({ ':path': `${CALL[':path']}/long` }).on('error', () => undefined);
    await reached.opened;
    long.close(constants.NGHTTP2_CANCEL);
    expect((await ask(http2.session, { ':path': '/v1.0/healthz' })).status).toBe(204);
    goOn.open();
    expect((await ask(http2.session, CALL, '')).text).toBe('answered');
  });

  test('trailer fields of the answer are passed on', async () => {
    await using world = await startInvocation({
      via,
      listener: (_req, res) => {
        res.writeHead(200, { trailer: 'x-checksum, x-parts' });
        res.write('body');
        res.addTrailers({ 'x-checksum': 'abc', 'x-parts': '1' });
        res.end();
      },
    });
    await using http2 = await http2Session(nodeHandler(world.sidecar));
    const stream = http2.session.request(CALL, { endStream: true }).resume();
    const trailers = await new Promise<IncomingHttpHeaders>((resolve) => stream.once('trailers', resolve));
    expect(Object.entries(trailers)).toEqual([
      ['x-checksum', 'abc'],
      ['x-parts', '1'],
    ]);
  });
});
