import assert from 'node:assert/strict';
import { request } from '../../src/http/message.ts';
import { gate } from '../../src/kit/adapter-case.ts';
import { stalled } from '../../src/kit/adapter-client.ts';
import {
  app,
  CHUNK,
  type ChannelCase,
  failingAfter,
  onApp,
  STREAM_BYTES,
  textOf,
  UNDERWAY_BYTES,
} from './channel-case.ts';

export const responses: readonly ChannelCase[] = [
  ...[200, 201, 204, 304, 400, 404, 500, 503].map((status) =>
    onApp(
      `returns status ${status}`,
      () => app(() => ({ status })),
      async (channel) => {
        const reply = await channel.handle(request('GET', '/'));
        assert.deepEqual([reply.status, await textOf(reply)], [status, '']);
      },
    ),
  ),
  onApp(
    'does not follow redirects',
    () => app(({ path }) => (path === '/to' ? { body: 'followed' } : { status: 302, headers: { location: '/to' } })),
    async (channel) => {
      const reply = await channel.handle(request('GET', '/'));
      assert.deepEqual([reply.status, reply.headers['location']], [302, '/to']);
    },
  ),
  onApp(
    'returns header fields, each cookie for itself',
    () => app(() => ({ headers: { 'set-cookie': ['a=1', 'b=2'], 'X-Case': 'y', 'x-list': ['1', '2'] } })),
    async (channel) => {
      const { headers } = await channel.handle(request('GET', '/'));
      assert.deepEqual([headers['set-cookie'], headers['x-case']], [['a=1', 'b=2'], 'y']);
      assert.equal([headers['x-list']].flat().join(', '), '1, 2');
    },
  ),
  onApp(
    'returns the head of an answer to HEAD',
    () => app(() => ({ headers: { 'content-length': '1000000', 'x-a': 'b' } })),
    async (channel) => {
      const reply = await channel.handle(request('HEAD', '/'));
      assert.deepEqual([reply.status, reply.headers['content-length'], reply.headers['x-a']], [200, '1000000', 'b']);
      assert.equal(await textOf(reply), '');
    },
  ),
  {
    name: 'returns each chunk when it is there',
    async run(open) {
      const goOn = gate();
      async function* chunks(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('one');
        await goOn.opened;
        yield Buffer.from('two');
      }
      await using opened = await open(app(() => ({ body: chunks() })));
      const { body } = await opened.channel.handle(request('GET', '/'));
      const read = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
      assert.equal(String(Buffer.from((await read.next()).value as Uint8Array)), 'one');
      goOn.open();
      assert.equal(String(Buffer.from((await read.next()).value as Uint8Array)), 'two');
      assert.equal((await read.next()).done, true);
    },
  },
  {
    name: 'makes an application wait that writes faster than is read',
    async run(open) {
      let made = 0;
      async function* chunks(): AsyncGenerator<Uint8Array> {
        for (; made < STREAM_BYTES; made += CHUNK.length) yield CHUNK;
      }
      await using opened = await open(app(() => ({ body: chunks() })));
      const { body } = await opened.channel.handle(request('GET', '/'));
      const inFlight = await stalled(() => made);
      assert.ok(inFlight < UNDERWAY_BYTES, `${inFlight} bytes`);
      let read = 0;
      for await (const chunk of body as AsyncIterable<Uint8Array>) read += chunk.length;
      assert.equal(read, STREAM_BYTES);
    },
  },
  onApp(
    'never makes an answer that broke off look complete',
    () =>
      app(({ path }) => ({
        headers: path === '/known' ? { 'content-length': '10' } : {},
        body: failingAfter('begun'),
      })),
    async (channel) => {
      for (const path of ['/known', '/unknown'])
        await assert.rejects(async () => textOf(await channel.handle(request('GET', path))), path);
    },
  ),
];
