import assert from 'node:assert/strict';
import { type HeaderMap, request } from '../../src/http/message.ts';
import { bytesOf, gate } from '../../src/kit/adapter-case.ts';
import { stalled } from '../../src/kit/adapter-client.ts';
import {
  app,
  CHUNK,
  type ChannelCase,
  EVERY_BYTE,
  MIB,
  onApp,
  STREAM_BYTES,
  soon,
  textOf,
  UNDERWAY_BYTES,
} from './channel-case.ts';

const echo = app(async ({ method, path, search, headers, body }) => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ method, path, search, headers, body: (await bytesOf(body)).toString('base64') }),
}));

interface Echo {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly headers: HeaderMap;
  readonly body: string;
}

export const requests: readonly ChannelCase[] = [
  onApp(
    'sends method, path and query as they are',
    () => echo,
    async (channel) => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const reply = await channel.handle(request(method, '/a%2Fb//c+d?x=1+2&y=%2F'));
        const seen = JSON.parse(await textOf(reply)) as Echo;
        assert.deepEqual([seen.method, seen.path, seen.search], [method, '/a%2Fb//c+d', 'x=1+2&y=%2F']);
      }
    },
  ),
  onApp(
    'sends header fields, repeated ones too',
    () => echo,
    async (channel) => {
      const headers = {
        'x-a': 'b',
        'x-list': ['1', '2'],
        cookie: 'a=1; b=2',
        'x-latin': 'caf\xe9',
        'x-none': undefined,
      };
      const { headers: seen } = JSON.parse(
        await textOf(await channel.handle(request('GET', '/', { headers }))),
      ) as Echo;
      assert.deepEqual(
        [seen['x-a'], seen['x-list'], seen['cookie'], seen['x-latin'], seen['x-none']],
        ['b', '1, 2', 'a=1; b=2', 'caf\xe9', undefined],
      );
      assert.ok(seen['host']);
    },
  ),
  onApp(
    'sends bodies of any bytes and length',
    () =>
      app(async ({ headers, body }) => {
        const bytes = await bytesOf(body);
        return { headers: { 'x-length': headers['content-length'] ?? 'none' }, body: bytes };
      }),
    async (channel) => {
      for (const body of [EVERY_BYTE, Buffer.alloc(MIB, EVERY_BYTE), new Uint8Array(0)]) {
        const reply = await channel.handle(request('POST', '/', { body }));
        assert.ok((await bytesOf(reply.body)).equals(body), `${body.length} bytes`);
        assert.ok([String(body.length), 'none'].includes(String(reply.headers['x-length'])));
      }
    },
  ),
  onApp(
    'sends a body while it is made, and makes its maker wait',
    () =>
      app(async ({ body }) => {
        let bytes = 0;
        for await (const chunk of body as AsyncIterable<Uint8Array>) bytes += chunk.length;
        return { body: `${bytes} bytes` };
      }),
    async (channel) => {
      async function* chunks(): AsyncGenerator<Uint8Array> {
        for (let made = 0; made < STREAM_BYTES; made += CHUNK.length) yield CHUNK;
      }
      assert.equal(
        await textOf(await channel.handle(request('POST', '/', { body: chunks() }))),
        `${STREAM_BYTES} bytes`,
      );
    },
  ),
  {
    name: 'does not read a body ahead of an application that does not read it',
    async run(open) {
      const goOn = gate();
      let made = 0;
      async function* chunks(): AsyncGenerator<Uint8Array> {
        for (; made < STREAM_BYTES; made += CHUNK.length) yield CHUNK;
      }
      await using opened = await open(
        app(async ({ body }) => {
          await goOn.opened;
          return { body: `${(await bytesOf(body)).length}` };
        }),
      );
      const reply = opened.channel.handle(request('POST', '/', { body: chunks() }));
      const inFlight = await stalled(() => made);
      assert.ok(inFlight < UNDERWAY_BYTES, `${inFlight} bytes`);
      goOn.open();
      assert.equal(await textOf(await reply), String(STREAM_BYTES));
    },
  },
  {
    name: 'leaves a body that the application does not want',
    async run(open) {
      const left = gate();
      async function* chunks(): AsyncGenerator<Uint8Array> {
        try {
          for (;;) yield await soon(CHUNK);
        } finally {
          left.open();
        }
      }
      await using opened = await open(
        app(async ({ body }) => {
          for await (const _chunk of body as AsyncIterable<Uint8Array>) break;
          return { status: 413, body: 'too much' };
        }),
      );
      const signal = new AbortController();
      const reply = await opened.channel.handle(request('POST', '/', { body: chunks(), signal: signal.signal }));
      assert.deepEqual([reply.status, await textOf(reply)], [413, 'too much']);
      signal.abort();
      await left.opened;
    },
  },
  {
    name: 'sends the token of the application with every call, whatever the caller sent',
    async run(open) {
      const token = { header: 'sidecar-api-token', value: 'secret' };
      await using opened = await open(
        app(({ headers }) => ({ body: String(headers['sidecar-api-token']) })),
        { token },
      );
      const headers = { 'Sidecar-Api-Token': 'mine' };
      assert.equal(await textOf(await opened.channel.handle(request('GET', '/', { headers }))), 'secret');
      const call = { method: 'GET', url: '/', headers: {}, body: new Uint8Array(0), timeLimitMs: 1000 };
      assert.equal((await opened.channel.call(call)).body.toString(), 'secret');
    },
  },
];
