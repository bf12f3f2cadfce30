import { expect, test } from 'vitest';
import { fetchHandler } from '../../src/adapters/fetch.ts';
import type { SidecarResponse } from '../../src/http/message.ts';
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
