import assert from 'node:assert/strict';
import type { AppChannel, AppChannelOptions } from '../../src/app/channel.ts';
import { type Handler, type HeaderMap, request, type SidecarResponse } from '../../src/http/message.ts';
import { bytesOf, gate, handlerOf, type PlainAnswer } from '../../src/testing/adapter-case.ts';
import { stalled } from '../../src/testing/adapter-client.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/virtual-clock.ts';
import type { OpenChannel } from './open.ts';

type Open = (app: Handler, options?: Partial<AppChannelOptions>) => Promise<OpenChannel>;

interface ChannelCase {
  readonly name: string;
  run(open: Open): Promise<void>;
}

const MIB = 1024 * 1024;
const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, index) => index);
const CHUNK = Buffer.alloc(64 * 1024, 'x');
const STREAM_BYTES = 64 * MIB;
const UNDERWAY_BYTES = 24 * MIB;
const app = (answer: Parameters<typeof handlerOf>[0]): Handler => handlerOf(answer).handle;

function onApp(name: string, answer: () => Handler, check: (channel: AppChannel) => Promise<void>): ChannelCase {
  return {
    name,
    async run(open) {
      await using opened = await open(answer());
      await check(opened.channel);
    },
  };
}

async function textOf({ body }: SidecarResponse): Promise<string> {
  return (await bytesOf(body)).toString();
}

/** In a later turn of the event loop, as everything that comes from the outside. */
function soon<T>(value: T): Promise<T> {
  return new Promise((resolve) => setImmediate(() => resolve(value)));
}

async function* failingAfter(chunk: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(chunk);
  throw new Error('the body broke off');
}

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

const requests: readonly ChannelCase[] = [
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
      const underway = await stalled(() => made);
      assert.ok(underway < UNDERWAY_BYTES, `${underway} bytes`);
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

const responses: readonly ChannelCase[] = [
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
      const underway = await stalled(() => made);
      assert.ok(underway < UNDERWAY_BYTES, `${underway} bytes`);
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

const goings: readonly ChannelCase[] = [
  {
    name: 'tells the application that the caller has gone, and the caller that there is no answer',
    async run(open) {
      const begun = gate();
      const gone = gate();
      await using opened = await open(
        app(async ({ signal }) => {
          signal.addEventListener('abort', () => gone.open());
          begun.open();
          await gone.opened;
          return {};
        }),
      );
      const caller = new AbortController();
      const reply = opened.channel.handle(request('GET', '/', { signal: caller.signal }));
      await begun.opened;
      const rejected = assert.rejects(reply, /enough/);
      caller.abort(new Error('enough'));
      await rejected;
      await gone.opened;
    },
  },
  {
    name: 'does not call for a caller who has gone already',
    async run(open) {
      let calls = 0;
      await using opened = await open(
        app(() => {
          calls++;
          return {};
        }),
      );
      const signal = AbortSignal.abort(new Error('enough'));
      await assert.rejects(opened.channel.handle(request('GET', '/', { signal })), /enough/);
      await opened.channel.handle(request('GET', '/'));
      assert.equal(calls, 1);
    },
  },
  ...[true, false].map(
    (reads): ChannelCase => ({
      name: `leaves an answer whose reader leaves ${reads ? 'in the middle' : 'before the first chunk'}`,
      async run(open) {
        const left = gate();
        async function* chunks(): AsyncGenerator<Uint8Array> {
          try {
            for (;;) yield await soon(CHUNK);
          } finally {
            left.open();
          }
        }
        await using opened = await open(app(() => ({ body: chunks() })));
        const { body } = await opened.channel.handle(request('GET', '/'));
        const iterator = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
        if (reads) await iterator.next();
        await iterator.return?.();
        await left.opened;
      },
    }),
  ),
  {
    name: 'fails a call that is not answered in its time',
    async run(open) {
      const clock = virtualClock();
      const begun = gate();
      await using opened = await open(
        app(() => {
          begun.open();
          return new Promise(() => undefined);
        }),
        { clock },
      );
      await timeLimited(opened.channel, clock, begun.opened);
    },
  },
  {
    name: 'fails a call whose answer stops in the middle',
    async run(open) {
      const clock = virtualClock();
      const begun = gate();
      async function* chunks(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('begun');
        begun.open();
        await new Promise(() => undefined);
      }
      await using opened = await open(
        app(() => ({ body: chunks() })),
        { clock },
      );
      await timeLimited(opened.channel, clock, begun.opened);
    },
  },
];

async function timeLimited(channel: AppChannel, clock: VirtualClock, begun: Promise<void>): Promise<void> {
  const call = { method: 'POST', url: '/', headers: {}, body: Buffer.from('x'), timeLimitMs: 60_000 };
  let settled = false;
  const reply = assert.rejects(channel.call(call), /no answer within 60000 ms/).finally(() => {
    settled = true;
  });
  await begun;
  await clock.advance('59s');
  assert.equal(settled, false);
  await clock.advance('1s');
  await reply;
  assert.equal(clock.pendingTimers, 0);
}

/** An application that tells of each call, and answers it when told to. */
function manual() {
  const arrived: string[] = [];
  const answers = new Map<string, (answer: PlainAnswer | Promise<PlainAnswer>) => void>();
  let changed = gate();
  const handler = app(({ path }) => {
    arrived.push(path);
    const answer = new Promise<PlainAnswer>((resolve) => answers.set(path, resolve));
    changed.open();
    changed = gate();
    return answer;
  });
  return {
    handler,
    arrived,
    answer: (path: string, answer: PlainAnswer = {}) => answers.get(path)?.(answer),
    async until(count: number): Promise<void> {
      while (arrived.length < count) await changed.opened;
    },
  };
}

const concurrency: readonly ChannelCase[] = [
  {
    name: 'has no more calls under way than are allowed, and takes them in their order',
    async run(open) {
      const { handler, arrived, answer, until } = manual();
      await using opened = await open(handler, { maxConcurrency: 2 });
      const replies = [1, 2, 3, 4].map((number) => opened.channel.handle(request('GET', `/${number}`)));
      await until(2);
      answer('/2');
      await until(3);
      assert.deepEqual(arrived.slice(2), ['/3']);
      for (const path of ['/1', '/3']) answer(path);
      await until(4);
      answer('/4');
      assert.deepEqual(
        (await Promise.all(replies)).map(({ status }) => status),
        [200, 200, 200, 200],
      );
    },
  },
  ...Object.entries(ENDINGS()).map(
    ([name, end]): ChannelCase => ({
      name: `gives a place back when an answer ${name}`,
      async run(open) {
        const { handler, arrived, answer, until } = manual();
        await using opened = await open(handler, { maxConcurrency: 1 });
        const caller = new AbortController();
        const first = opened.channel.handle(request('GET', '/1', { signal: caller.signal }));
        const second = opened.channel.handle(request('GET', '/2'));
        await until(1);
        await end({
          first,
          caller,
          answer: (with_) => answer('/1', with_),
          isHeld: () => assert.deepEqual(arrived, ['/1']),
        });
        await until(2);
        answer('/2');
        assert.equal((await second).status, 200);
      },
    }),
  ),
  {
    name: 'lets a caller who waits for a place go',
    async run(open) {
      const { handler, arrived, answer, until } = manual();
      await using opened = await open(handler, { maxConcurrency: 1 });
      const first = opened.channel.handle(request('GET', '/1'));
      const caller = new AbortController();
      const second = opened.channel.handle(request('GET', '/2', { signal: caller.signal }));
      const third = opened.channel.handle(request('GET', '/3'));
      await until(1);
      const rejected = assert.rejects(second, /enough/);
      caller.abort(new Error('enough'));
      await rejected;
      answer('/1');
      await until(2);
      answer('/3');
      await Promise.all([first, third]);
      assert.deepEqual(arrived, ['/1', '/3']);
    },
  },
];

interface Ending {
  readonly first: Promise<SidecarResponse>;
  readonly caller: AbortController;
  readonly answer: (answer: PlainAnswer) => void;
  readonly isHeld: () => void;
}

function ENDINGS(): Readonly<Record<string, (ending: Ending) => Promise<void>>> {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield await soon(CHUNK);
  }
  async function* two(): AsyncGenerator<Uint8Array> {
    yield CHUNK;
    yield CHUNK;
  }
  return {
    'is read whole, and not before': async ({ first, answer, isHeld }) => {
      answer({ body: two() });
      const { body } = await first;
      isHeld();
      await bytesOf(body);
    },
    'is left': async ({ first, answer }) => {
      answer({ body: endless() });
      const { body } = await first;
      await (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.();
    },
    'breaks off': async ({ first, answer }) => {
      answer({ body: failingAfter('begun') });
      await assert.rejects(first.then(textOf));
    },
    'is not read by a caller who goes': async ({ first, caller, answer }) => {
      answer({ body: endless() });
      await first;
      caller.abort(new Error('enough'));
    },
    'does not come before the caller goes': async ({ first, caller }) => {
      const rejected = assert.rejects(first, /enough/);
      caller.abort(new Error('enough'));
      await rejected;
    },
  };
}

/** How the sidecar calls an application, whatever kind of application it is. */
export const channelSuite: readonly ChannelCase[] = [...requests, ...responses, ...goings, ...concurrency];
