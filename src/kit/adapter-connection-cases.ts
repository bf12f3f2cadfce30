import assert from 'node:assert/strict';
import { isError } from '../errors.ts';
import type { SidecarRequest } from '../http/message.ts';
import { type AdapterCase, bytesOf, gate, handlerOf, mounted, type PlainAnswer } from './adapter-case.ts';
import { RawClient, send } from './adapter-client.ts';

/** A body that shows when its reader leaves: endless chunks, or idle after the first one. */
class WatchedBody implements AsyncIterableIterator<Uint8Array> {
  readonly #left = gate();
  readonly #idle: boolean;
  #chunks = 0;

  constructor(idle: boolean) {
    this.#idle = idle;
  }

  /** Resolves when the reader has left. */
  get left(): Promise<void> {
    return this.#left.opened;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#idle && this.#chunks++ > 0) {
      await this.left;
      return { done: true, value: undefined };
    }
    await new Promise((resolve) => setImmediate(resolve));
    return { done: false, value: Buffer.from('chunk') };
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#left.open();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

const closing = (method: string, ...headers: string[]): string[] => [
  `${method} / HTTP/1.1`,
  'host: a',
  ...headers,
  '',
  '',
];

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A handler that gives the case its first request, and answers `/alive` at once. */
function watchedHandler(answer: (request: SidecarRequest) => Promise<PlainAnswer>) {
  const begun = gate<SidecarRequest>();
  const handler = handlerOf((request) => {
    if (request.path === '/alive') return { body: 'alive' };
    begun.open(request);
    return answer(request);
  });
  const alive = async (url: string): Promise<void> => {
    assert.equal((await send(`${url}/alive`)).body.toString(), 'alive');
  };
  return { handler, begun: begun.opened, alive };
}

const gone: readonly AdapterCase[] = [
  mounted('tells the handler when the client disconnects before the response', {}, () => {
    const aborted = gate();
    const { handler, begun, alive } = watchedHandler(async ({ signal }) => {
      await untilAborted(signal);
      aborted.open();
      return { body: 'too late' };
    });
    return {
      handler,
      async check(url) {
        using client = new RawClient(url);
        client.send(...closing('GET'));
        await begun;
        client.socket.destroy();
        await aborted.opened;
        await alive(url);
      },
    };
  }),
  ...[false, true].map((idle) =>
    mounted(`leaves a body when the client disconnects ${idle ? 'between chunks' : 'in the middle of it'}`, {}, () => {
      const body = new WatchedBody(idle);
      const { handler, begun, alive } = watchedHandler(async () => ({ body }));
      return {
        handler,
        async check(url) {
          using client = new RawClient(url);
          client.send(...closing('GET'));
          await client.until(() => client.received.includes('chunk'));
          const { signal } = await begun;
          client.socket.destroy();
          await body.left;
          await untilAborted(signal);
          await alive(url);
        },
      };
    }),
  ),
  mounted('closes the connection when a response is aborted, even while the client is not reading', {}, () => {
    const body = new WatchedBody(false);
    const breaking = new AbortController();
    const { handler, begun, alive } = watchedHandler(async () => ({ body, signal: breaking.signal }));
    return {
      handler,
      async check(url) {
        using client = new RawClient(url);
        client.send(...closing('GET'));
        await begun;
        await client.until(() => client.received.includes('chunk'));
        client.socket.pause();
        breaking.abort(new Error('the sidecar stops'));
        await body.left;
        client.socket.resume();
        assert.ok(!(await client.all()).endsWith('\r\n0\r\n\r\n'), 'the answer looks complete');
        await alive(url);
      },
    };
  }),
  mounted('leaves a body that starts after the client has disconnected', {}, () => {
    const body = new WatchedBody(false);
    const { handler, begun, alive } = watchedHandler(async ({ signal }) => {
      await untilAborted(signal);
      return { body };
    });
    return {
      handler,
      async check(url) {
        using client = new RawClient(url);
        client.send(...closing('GET'));
        await begun;
        client.socket.destroy();
        await body.left;
        await alive(url);
      },
    };
  }),
  mounted('does not abort the signal of a completed request', {}, () => {
    let fired = 0;
    const handler = handlerOf(({ signal }) => {
      signal.addEventListener('abort', () => fired++);
      return { body: 'done' };
    });
    return {
      handler,
      async check(url) {
        for (const connection of ['close', 'keep-alive']) await send(url, { headers: { connection } });
        assert.equal(fired, 0);
      },
    };
  }),
  mounted('fails reading a body that breaks off', {}, () => {
    const failed = gate<unknown>();
    const { handler, begun, alive } = watchedHandler(async ({ body }) => {
      await bytesOf(body).then(() => failed.open(undefined), failed.open);
      return { status: 500 };
    });
    return {
      handler,
      async check(url) {
        using client = new RawClient(url);
        client.send(...closing('POST', 'content-length: 1000'), 'beginning');
        await begun;
        client.socket.destroy();
        assert.ok(isError(await failed.opened));
        await alive(url);
      },
    };
  }),
];

/** Below the time limits of idle connections. */
const IN_TIME_MS = 2_000;

/** Ways in which a handler treats an unwanted body. */
const UNWANTED: Readonly<Record<string, (body: AsyncIterable<Uint8Array>) => Promise<void>>> = {
  'is not read': async () => undefined,
  'is left after its first chunk': async (body) => {
    for await (const _chunk of body) return;
  },
};

const unwanted: readonly AdapterCase[] = Object.entries(UNWANTED).map(([how, read]) =>
  mounted(`answers although the body ${how}, and never takes it for a request`, {}, () => ({
    handler: handlerOf(async ({ path, body }) => {
      if (path === '/next') return { body: 'next answer' };
      await read(body as AsyncIterable<Uint8Array>);
      return { status: 413, body: 'first answer' };
    }),
    async check(url) {
      using client = new RawClient(url);
      const body = 'GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n'.padEnd(300_000, 'x');
      client.send('POST / HTTP/1.1', 'host: a', `content-length: ${body.length}`, '', body);
      client.send('GET /next HTTP/1.1', 'host: a', 'connection: close', '', '');
      await client.until(() => client.received.includes('first answer'));
      const answeredAt = performance.now();
      // A server may close such a connection, but must not read the body as a request.
      const answers = await client.all();
      assert.ok(answers.split('HTTP/1.1 ').length <= 3, answers);
      assert.ok(answers.includes('next answer') || answers.split('HTTP/1.1 ').length === 2, answers);
      assert.ok(performance.now() - answeredAt < IN_TIME_MS, 'the connection hung until its time limit');
    },
  })),
);

const order: readonly AdapterCase[] = [
  mounted('answers pipelined requests in order', {}, () => ({
    handler: handlerOf(async ({ path, body }) => ({ body: `${path}=${await bytesOf(body)};` })),
    async check(url) {
      using client = new RawClient(url);
      client.send('POST /1 HTTP/1.1', 'host: a', 'content-length: 3', '', 'one');
      client.send('POST /2 HTTP/1.1', 'host: a', 'transfer-encoding: chunked', '', '3', 'two', '0', '', '');
      client.send('GET /3 HTTP/1.1', 'host: a', 'connection: close', '', '');
      assert.match(await client.all(), /\/1=one;[\s\S]*\/2=two;[\s\S]*\/3=;/);
    },
  })),
  mounted('lets a client with expect: 100-continue send its body', {}, () => ({
    handler: handlerOf(async ({ body }) => ({ body: `read ${await bytesOf(body)}` })),
    async check(url) {
      using client = new RawClient(url);
      client.send(
        'PUT / HTTP/1.1',
        'host: a',
        'content-length: 5',
        'expect: 100-continue',
        'connection: close',
        '',
        '',
      );
      await client.until(() => client.received.startsWith('HTTP/1.1 100 '));
      client.send('later');
      assert.match(await client.all(), /read later/);
    },
  })),
];

/** Cases about connections beyond one request and its response. */
export const connectionCases: readonly AdapterCase[] = [...gone, ...unwanted, ...order];
