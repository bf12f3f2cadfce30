import { describe, expect, test } from 'vitest';
import { fetchTransport } from '../../src/app/fetch-app.ts';
import { request } from '../../src/http/message.ts';
import { Unhandled } from '../support/unhandled.ts';
import { channelSuite } from './channel-suite.ts';
import { appWays, open } from './open.ts';

describe.each(Object.entries(appWays))('application: %s', (_name, way) => {
  for (const { name, run } of channelSuite) test(name, () => run((app, options) => open(way, app, options)));
});

test('a body that fails because the caller has left gives its reader the reason, and nothing else', async () => {
  using unhandled = new Unhandled();
  let fail = (_error: Error): void => undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(Buffer.from('begun'));
      fail = (error) => controller.error(error);
    },
  });
  const transport = fetchTransport(() => new Response(body));
  const caller = new AbortController();
  const answer = await transport.handle(request('GET', '/', { signal: caller.signal }));
  const chunks = (answer.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  expect(Buffer.from((await chunks.next()).value).toString()).toBe('begun');
  const reason = new Error('enough');
  caller.abort(reason);
  fail(reason);
  await expect(chunks.next()).rejects.toBe(reason);
  expect(await unhandled.errors()).toEqual([]);
});
