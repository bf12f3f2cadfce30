import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import { bytesOf } from '../../src/kit/adapter-case.ts';
import { Chunks } from '../support/http.ts';
import { type InvocationWorldOptions, startInvocation } from '../support/invocation-world.ts';

const PATH = '/v1.0/invoke/shop/method/x';

/** An application that is a fetch function, and the methods with which it was called. */
async function fetchWorld(options: InvocationWorldOptions = {}) {
  const called: string[] = [];
  const fetch = (asked: Request): Response => {
    if (!/\/(?:subscribe|config)$/.test(new URL(asked.url).pathname)) called.push(asked.method);
    return new Response('answered');
  };
  const world = await startInvocation({ app: { fetch }, ...options });
  return { world, called, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** For these methods, Node's client sends no length by itself. */
const withLength = (body: unknown) => ({
  body,
  headers: typeof body === 'string' ? { 'content-length': String(body.length) } : {},
});

async function* streamOf(...chunks: string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

describe('what a Request cannot carry', () => {
  test.each<[method: string, what: string, body: unknown]>([
    ['GET', 'a body', 'hello'],
    ['GET', 'a long body', 'x'.repeat(100_000)],
    ['GET', 'a body without a length', new Chunks(Buffer.from('hello'))],
    ['HEAD', 'a body', 'hello'],
  ])('%s with %s is 501, and the application is not called', async (method, _what, body) => {
    await using opened = await fetchWorld();
    const answer = await opened.world.send(method, PATH, withLength(body));
    expect([answer.status, opened.called]).toEqual([501, []]);
    if (method === 'HEAD') return;
    expect(answer.json).toEqual({
      errorCode: 'ERR_DIRECT_INVOKE',
      message: `a ${method} with a body cannot be passed to a fetch function`,
    });
  });

  test.each(['hello', ''])('TRACE with body %j is 501', async (body) => {
    await using opened = await fetchWorld();
    const answer = await opened.world.send('TRACE', PATH, withLength(body));
    expect(answer.json).toEqual({
      errorCode: 'ERR_DIRECT_INVOKE',
      message: 'TRACE is not offered: expected another method',
    });
    expect([answer.status, opened.called]).toEqual([501, []]);
  });

  test.each<[what: string, headers: Record<string, string>, body: () => Uint8Array | AsyncIterable<Uint8Array>]>([
    ['no body', {}, () => new Uint8Array()],
    ['length 0', { 'content-length': '0' }, () => streamOf()],
    ['a stream without a chunk', {}, () => streamOf()],
    ['a stream of empty chunks', {}, () => streamOf('', '')],
  ])('GET and HEAD with %s are passed on', async (_what, headers, body) => {
    await using opened = await fetchWorld();
    const handle = (method: string) => opened.world.sidecar.handle(request(method, PATH, { headers, body: body() }));
    const got = await handle('GET');
    expect([got.status, (await bytesOf(got.body)).toString()]).toEqual([200, 'answered']);
    expect((await handle('HEAD')).status).toBe(200);
    expect(opened.called).toEqual(['GET', 'HEAD']);
  });

  test('it is not tried again', async () => {
    const retries = { r: { policy: 'constant', duration: '1s', maxRetries: 2 } } as const;
    await using opened = await fetchWorld({
      resiliency: { policies: { retries }, targets: { apps: { shop: { retry: 'r' } } } },
    });
    const answer = opened.world.send('GET', PATH, withLength('hello'));
    await opened.world.pass('1h');
    expect((await answer).status).toBe(501);
    expect(
      opened.world.events.filter(({ name }) => name === 'invocationEnded').map(({ info }) => info['attempts']),
    ).toEqual([1]);
  });

  test('what the application throws itself stays a 500 that tells nothing of it', async () => {
    const fetch = (): Response => {
      throw Object.assign(new Error('secret'), { status: 501, code: 'ERR_DIRECT_INVOKE' });
    };
    await using world = await startInvocation({ app: { fetch } });
    const answer = await world.send('GET', PATH);
    expect(answer.error).toEqual([500, 'ERR_DIRECT_INVOKE']);
    expect(answer.text).not.toContain('secret');
  });
});
