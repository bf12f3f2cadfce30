import { Hono } from 'hono';
import { cloneRawRequest } from 'hono/request';
import { expect, test } from 'vitest';
import { fetchHandler } from '../../src/adapters/fetch.ts';
import { readBody } from '../../src/http/body.ts';
import { EMPTY_BODY, type SidecarRequest, type SidecarResponse } from '../../src/http/message.ts';
import { fetchListener } from './fetch-bridge.ts';
import { conforms, serve } from './serve.ts';

const behind = async (request: Request): Promise<Response> =>
  new Response(`${request.method} ${request.url.slice(new URL(request.url).origin.length)} ${await request.text()}`, {
    status: 299,
  });

conforms(
  (handler, { fallthrough, prefix } = {}) => {
    const options = prefix === undefined ? {} : { prefix };
    if (!fallthrough) return serve(fetchListener(fetchHandler(handler, options)));
    const passing = fetchHandler(handler, { ...options, fallthrough: true });
    return serve(fetchListener(async (request) => (await passing(request)) ?? behind(request)));
  },
  ['body-parser', 'mount-path'],
);

test.each([
  [205, 205],
  [599, 599],
  [600, 502],
  [999, 502],
])('an application that answers %i with a body is answered with %i, and its body is left', async (status, expected) => {
  let isLeft = false;
  const body = {
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: isLeft, value: Buffer.from('a') }),
      return: async () => {
        isLeft = true;
        return { done: true, value: undefined };
      },
    }),
  } as AsyncIterable<Uint8Array>;
  const handle = async (): Promise<SidecarResponse> => ({ status, headers: {}, body });
  const response = await fetchHandler({ handle })(new Request('http://localhost/v1.0/x'));
  expect(response.status).toBe(expected);
  if (status !== 599) expect(await response.text()).toBe('');
  else await response.body?.cancel();
  await expect.poll(() => isLeft).toBe(true);
});

test.each<[string, (request: Request) => unknown]>([
  ['has read', (request) => request.text()],
  ['is reading', (request) => request.body?.getReader()],
])('refuses a body that other middleware %s, and says so', async (_how, take) => {
  const errors: unknown[] = [];
  const handle = async (request: SidecarRequest): Promise<SidecarResponse> => {
    await readBody(request, 20).catch((error: unknown) => errors.push(error));
    return { status: 204, headers: {}, body: EMPTY_BODY };
  };
  const request = new Request('http://localhost/v1.0/x', { method: 'POST', body: 'gone' });
  await take(request);
  await fetchHandler({ handle })(request);
  expect(String(errors)).toContain('the request body was read by another middleware');
  expect(String(errors)).toContain('cloneRawRequest');
});

test("takes Hono's clone of a request whose body other middleware has read", async () => {
  const bodies: string[] = [];
  const handle = async (request: SidecarRequest): Promise<SidecarResponse> => {
    bodies.push((await readBody(request, 20)).toString());
    return { status: 204, headers: {}, body: EMPTY_BODY };
  };
  const app = new Hono();
  app.use(async ({ req }, next) => {
    await req.json();
    await next();
  });
  app.all('*', async ({ req }) => fetchHandler({ handle })(await cloneRawRequest(req)));
  const body = '{"id":1.0}';
  expect((await app.request('http://localhost/v1.0/x', { method: 'POST', body })).status).toBe(204);
  expect(bodies).toEqual([body]);
});
