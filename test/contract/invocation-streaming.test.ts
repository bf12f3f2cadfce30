import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import Koa from 'koa';
import { describe, expect, test } from 'vitest';
import {
  type AppOptions,
  expressHandler,
  fetchHandler,
  koaHandler,
  memoryPubSub,
  nodeHandler,
} from '../../src/index.ts';
import { gate } from '../../src/kit/adapter-case.ts';
import { flood, RawClient, stalled } from '../../src/kit/adapter-client.ts';
import type { RequestHandler } from '../../src/kit/index.ts';
import { fetchListener } from '../adapters/fetch-bridge.ts';
import { freePort, listen, send } from '../support/http.ts';
import { type InvocationWorld, startInvocation } from '../support/invocation-world.ts';
import { WAYS } from '../support/served.ts';
import { Unhandled } from '../support/unhandled.ts';

const MIB = 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, 'x');
const STREAM_BYTES = 64 * MIB;
/** What sockets and we may hold between two who wait. */
const UNDERWAY_BYTES = 32 * MIB;
const PATH = '/v1.0/invoke/shop/method/x';

/** A request whose body is written as the test wants it. */
function open(
  world: InvocationWorld,
  headers: Record<string, string> = {},
): {
  readonly req: ReturnType<typeof httpRequest>;
  readonly answered: Promise<IncomingMessage>;
} {
  const req = httpRequest(`${world.server.url}${PATH}`, { method: 'POST', headers, agent: false });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    req.once('response', resolve).once('error', reject);
  });
  answered.catch(() => undefined);
  return { req, answered };
}

describe.each(WAYS)('streaming (%s)', (via) => {
  test('the target gets each piece of a body as it comes, and the caller each piece of the answer', async () => {
    await using world = await startInvocation({
      via,
      listener: (req, res) =>
        void req.on('data', (chunk) => res.write(`got ${chunk};`)).on('end', () => res.end('end')),
    });
    const { req, answered } = open(world);
    req.write('one');
    const response = await answered;
    const pieces = response[Symbol.asyncIterator]();
    expect(String((await pieces.next()).value)).toBe('got one;');
    req.write('two');
    expect(String((await pieces.next()).value)).toBe('got two;');
    req.end();
    expect(String((await pieces.next()).value)).toBe('end');
  });

  test('server-sent events flow one by one, their head first', async () => {
    const [first, second] = [gate(), gate()];
    await using world = await startInvocation({
      via,
      listener: (_req, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        void first.opened.then(() => res.write('data: 1\n\n'));
        void second.opened.then(() => res.end('data: 2\n\n'));
      },
    });
    using client = new RawClient(world.server.url);
    client.send(`GET ${PATH} HTTP/1.1`, 'host: a', 'accept: text/event-stream', 'connection: close', '', '');
    await client.until(() => client.received.includes('\r\n\r\n'));
    expect(client.received).toContain('text/event-stream');
    first.open();
    await client.until(() => client.received.includes('data: 1'));
    expect(client.received).not.toContain('data: 2');
    second.open();
    expect(await client.all()).toMatch(/data: 2[\s\S]*\r\n0\r\n\r\n$/);
  });

  test('a target that reads slowly makes the caller wait', async () => {
    const [begun, goOn] = [gate(), gate()];
    await using world = await startInvocation({
      via,
      listener: (req, res) => {
        let bytes = 0;
        req.once('data', (chunk: Buffer) => {
          bytes += chunk.length;
          req.pause();
          begun.open();
          void goOn.opened.then(() => {
            req.on('data', (more: Buffer) => {
              bytes += more.length;
            });
            req.on('end', () => res.end(`${bytes} bytes`));
            req.resume();
          });
        });
      },
    });
    using client = new RawClient(world.server.url);
    client.send(`POST ${PATH} HTTP/1.1`, 'host: a', `content-length: ${STREAM_BYTES}`, 'connection: close', '', '');
    const { sent } = flood(client.socket, CHUNK, STREAM_BYTES / CHUNK.length);
    await begun.opened;
    expect(await stalled(sent)).toBeLessThan(UNDERWAY_BYTES);
    goOn.open();
    expect(await client.all()).toContain(`${STREAM_BYTES} bytes`);
  });

  test('a caller that reads slowly makes the target wait', async () => {
    let produced = 0;
    await using world = await startInvocation({
      via,
      listener: (_req, res) => {
        const produce = (): void => {
          while (produced < STREAM_BYTES) {
            produced += CHUNK.length;
            if (!res.write(CHUNK)) return void res.once('drain', produce);
          }
          res.end();
        };
        produce();
      },
    });
    using client = new RawClient(world.server.url);
    client.send(`GET ${PATH} HTTP/1.1`, 'host: a', 'connection: close', '', '');
    await client.until(() => client.receivedBytes > 0);
    client.socket.pause();
    expect(await stalled(() => produced)).toBeLessThan(UNDERWAY_BYTES);
    client.socket.resume();
    await client.all();
    expect(client.receivedBytes).toBeGreaterThan(STREAM_BYTES);
  });

  test('the body limit of the API does not hold for what only passes through', async () => {
    await using world = await startInvocation({ via, bodyLimitBytes: 10, listener: (req, res) => void req.pipe(res) });
    expect((await world.send('POST', PATH, { body: Buffer.alloc(MIB, 'y') })).bytes.length).toBe(MIB);
    expect((await world.send('POST', PATH, { body: Buffer.alloc(100, 'y') })).bytes.length).toBe(100);
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
    const { req } = open(world);
    req.end('x');
    await reached.opened;
    req.destroy();
    await ended.opened;
    expect([...world.logger.at('warn'), ...world.logger.at('error')]).toEqual([]);
  });

  test('a caller that goes in the middle of the answer ends the call', async () => {
    const ended = gate();
    await using world = await startInvocation({
      via,
      listener: (_req, res) => {
        res.once('close', () => ended.open());
        res.write('begun');
      },
    });
    const { req, answered } = open(world);
    req.end();
    const response = await answered;
    await response[Symbol.asyncIterator]().next();
    req.destroy();
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
    for (const headers of [{}, { 'content-length': String(MIB) }]) {
      const { req } = open(world, headers as Record<string, string>);
      req.on('error', () => undefined);
      req.write('some');
      await reached.opened;
      req.destroy();
      expect(await broken.opened).toBe('broken');
    }
  });

  test('a caller that goes while its answer waits behind another one on its connection ends the call', async () => {
    const [reached, ended] = [gate(), gate()];
    const world = await startInvocation({
      via,
      listener: (req, res) => {
        if (!req.url?.endsWith('/stream')) return;
        res.once('close', () => ended.open());
        const produce = (): void => {
          if (res.write(CHUNK)) setImmediate(produce);
          else reached.open();
        };
        produce();
      },
    });
    const client = new RawClient(world.server.url);
    const waiting = (path: string): string[] => [`GET ${PATH}${path} HTTP/1.1`, 'host: a', '', ''];
    client.send(...waiting(''), ...waiting('/stream'));
    await reached.opened;
    client.socket.destroy();
    await ended.opened;
    await expect.poll(() => world.sidecar.answers.underWay).toBe(0);
    await world[Symbol.asyncDispose]();
  });

  test('a signal ends a call in code while its body is still read', async () => {
    await using world = await startInvocation({ via });
    const reason = new Error('enough');
    const controller = new AbortController();
    const body = (async function* () {
      yield Buffer.from('x');
      await new Promise(() => undefined);
    })();
    const headers = { 'content-length': '10' };
    const called = world.sidecar.invocation.invoke('shop', '/x', {
      method: 'POST',
      body,
      headers,
      signal: controller.signal,
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    controller.abort(reason);
    await expect(called).rejects.toBe(reason);
  });

  test('a signal ends a call in code', async () => {
    const [reached, ended] = [gate(), gate()];
    await using world = await startInvocation({
      via,
      listener: (_req, res) => {
        res.once('close', () => ended.open());
        reached.open();
      },
    });
    const controller = new AbortController();
    const called = world.sidecar.invocation.invoke('shop', '/x', { signal: controller.signal });
    await reached.opened;
    controller.abort(new Error('enough'));
    await expect(called).rejects.toThrow('enough');
    await ended.opened;
  });

  test('a stop waits for calls in code to be answered, and breaks off what is still under way then', async () => {
    const reached = gate();
    const world = await startInvocation({
      via,
      listener: (req, res) => {
        if (req.url === '/stream') res.write('begun');
        else reached.open();
      },
    });
    const hung = world.sidecar.invocation.invoke('shop', '/x');
    const streamed = await world.sidecar.invocation.invoke('shop', '/stream');
    await reached.opened;
    const [stopped, body] = [world[Symbol.asyncDispose](), streamed.text()];
    await expect(hung).rejects.toMatchObject({ code: 'ERR_SHUTTING_DOWN' });
    await expect(body).rejects.toMatchObject({ code: 'ERR_DIRECT_INVOKE' });
    await stopped;
  });

  test('an answer that comes before the whole body reaches the caller', async () => {
    await using world = await startInvocation({
      via,
      listener: (_req, res) => void res.writeHead(413).end('too much'),
    });
    using client = new RawClient(world.server.url);
    client.send(`POST ${PATH} HTTP/1.1`, 'host: a', `content-length: ${STREAM_BYTES}`, 'connection: close', '', '');
    const { done } = flood(client.socket, CHUNK, STREAM_BYTES / CHUNK.length);
    await client.until(() => client.received.includes('too much'));
    expect(client.received).toMatch(/^HTTP\/1\.1 413 /);
    await done;
  });

  test('trailer fields of the answer are passed on, framing ones are not', async () => {
    await using world = await startInvocation({
      via,
      listener: (_req, res) => {
        res.writeHead(200, { trailer: 'x-checksum, x-parts' });
        res.write('body');
        res.addTrailers({ 'x-checksum': 'abc', 'x-parts': '1', 'set-cookie': 'evil=1' });
        res.end();
      },
    });
    const { req, answered } = open(world);
    req.end();
    const response = await answered;
    expect(await text(response)).toBe('body');
    expect(response.trailers).toEqual({ 'x-checksum': 'abc', 'x-parts': '1' });
    const reply = await world.sidecar.invocation.invoke('shop', '/x');
    expect(await reply.text()).toBe('body');
    expect(reply.trailers()).toEqual({ 'x-checksum': 'abc', 'x-parts': '1' });
  });

  test('a body that is made in code streams too, and one that breaks off makes no complete request', async () => {
    let ended = false;
    await using world = await startInvocation({
      via,
      listener: (req, res) => {
        req.on('error', () => undefined);
        req.on('end', () => {
          ended = true;
        });
        req.pipe(res);
      },
    });
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
      yield Buffer.from('b');
    }
    const reply = await world.sidecar.invocation.invoke('shop', '/x', { method: 'POST', body: pieces() });
    expect([await reply.text(), ended]).toEqual(['ab', true]);
    ended = false;
    async function* breaking(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
      throw new Error('no more');
    }
    const failed = world.sidecar.invocation
      .invoke('shop', '/x', { method: 'POST', body: breaking() })
      .then((answer) => answer.text());
    await expect(failed).rejects.toMatchObject({ code: 'ERR_DIRECT_INVOKE' });
    expect(ended).toBe(false);
  });
});

describe('a Node stream as the body of a call in code', () => {
  test('that is closed already, of a caller that has left already: the call rejects, and nothing else', async () => {
    using unhandled = new Unhandled();
    await using world = await startInvocation();
    const body = new PassThrough();
    body.destroy();
    await once(body, 'close');
    const [headers, signal] = [{ 'content-length': '3' }, AbortSignal.abort(new Error('enough'))];
    const called = world.sidecar.invocation.invoke('shop', '/x', { method: 'POST', body, headers, signal });
    await expect(called).rejects.toThrow('enough');
    expect(await unhandled.errors()).toEqual([]);
  });

  test('that fails before anybody reads it: the call rejects, and nothing else', async () => {
    using unhandled = new Unhandled();
    await using world = await startInvocation();
    const body = new Readable({ read: () => undefined });
    const target = `http://127.0.0.1:${await freePort()}`;
    const outcome = world.sidecar.invocation
      .invoke(target, '/x', { method: 'POST', body })
      .catch((error: unknown) => error);
    let isOver = false;
    void outcome.then(() => {
      isOver = true;
    });
    // The first attempt has failed, and nobody holds the body until the next one.
    await world.clock.settled();
    body.destroy(new Error('the disk is gone'));
    while (!isOver) {
      await world.clock.advance('1s');
      await nextTurn();
    }
    expect(await outcome).toMatchObject({ code: 'ERR_DIRECT_INVOKE' });
    expect(await unhandled.errors()).toEqual([]);
  });

  test('that has failed, and whose length is known: the call rejects with its error', async () => {
    await using world = await startInvocation();
    const body = new Readable({ read: () => undefined }).on('error', () => undefined);
    body.destroy(new Error('the disk is gone'));
    await new Promise((resolve) => body.once('close', resolve));
    const called = world.sidecar.invocation.invoke('shop', '/x', {
      method: 'POST',
      body,
      headers: { 'content-length': '3' },
    });
    await expect(called).rejects.toThrow('the disk is gone');
  });

  test.each(['nobody', 'no application'])('that nobody reads is closed when the call fails (%s)', async (target) => {
    await using world = await startInvocation();
    const body = new Readable({ read: () => undefined });
    const called = world.sidecar.invocation.invoke(target, '/x', { method: 'POST', body });
    await expect(called).rejects.toMatchObject({ code: 'ERR_DIRECT_INVOKE' });
    expect(body.destroyed).toBe(true);
  });

  test.each<[what: string, app: AppOptions]>([
    ['a listener', { listener: (_req, res) => void res.end('no') }],
    ['a listener that streams', { listener: (_req, res) => void res.write('n', () => res.end('o')) }],
    ['a fetch function', { fetch: () => new Response('no') }],
  ])('that the application does not read is closed with the answer (%s)', async (_what, app) => {
    await using world = await startInvocation({ app });
    const body = new Readable({ read: () => undefined });
    const reply = await world.sidecar.invocation.invoke('shop', '/x', { method: 'POST', body });
    expect(await reply.text()).toBe('no');
    expect(body.destroyed).toBe(true);
  });

  test('that the application begins to read with its answer is read to its end', async () => {
    const got = gate<string>();
    await using world = await startInvocation({
      listener: (req, res) => {
        res.end();
        void text(req).then(got.open);
      },
    });
    const body = new PassThrough();
    expect((await world.sidecar.invocation.invoke('shop', '/x', { method: 'POST', body })).status).toBe(200);
    body.end('all');
    expect(await got.opened).toBe('all');
  });

  test('that is a request: it can still be answered when the call fails', async () => {
    await using world = await startInvocation();
    await using server = await listen((req, res) => {
      const called = world.sidecar.invocation.invoke('nobody', '/x', { method: 'POST', body: req });
      called.catch(() => res.writeHead(502).end());
    });
    expect((await send(server.url, 'POST', '/', { body: 'x' })).status).toBe(502);
  });
});

const ADAPTERS: Readonly<Record<string, (handler: RequestHandler) => RequestListener>> = {
  express: (handler) => express().use(expressHandler(handler)) as unknown as RequestListener,
  koa: (handler) => new Koa().use(koaHandler(handler)).callback(),
  fetch: (handler) => fetchListener(fetchHandler(handler)),
};

/** The sidecar behind an adapter, and a client that has read the beginning of a streamed answer. */
async function begunThrough(adapter: string, world: InvocationWorld) {
  const mount = ADAPTERS[adapter];
  const other = mount === undefined ? undefined : await listen(mount(world.sidecar));
  const url = other?.url ?? world.server.url;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest(`${url}${PATH}`, { agent: false }, resolve).once('error', reject).end();
  });
  const begun = gate();
  const text = new Promise<string>((resolve, reject) => {
    let read = '';
    response.on('data', (chunk) => {
      read += String(chunk);
      begun.open();
    });
    response.once('end', () => resolve(read)).once('error', reject);
  });
  text.catch(() => undefined);
  await begun.opened;
  return { response, text, [Symbol.asyncDispose]: async () => other?.[Symbol.asyncDispose]() };
}

/** Stops a sidecar; tells whether that is over. */
function stopping(world: InvocationWorld): { readonly isOver: () => boolean; readonly stopped: Promise<void> } {
  let isOver = false;
  const stopped = world.sidecar.stop().then(() => {
    isOver = true;
  });
  return { isOver: () => isOver, stopped };
}

describe('a stop while an answer is being streamed', () => {
  for (const via of WAYS)
    for (const adapter of ['node', ...Object.keys(ADAPTERS)]) {
      test(`waits for its end: ${via}, through ${adapter}`, async () => {
        const goOn = gate();
        await using world = await startInvocation({
          via,
          listener: (_req, res) => {
            res.write('begun, ');
            void goOn.opened.then(() => res.end('ended'));
          },
        });
        await using client = await begunThrough(adapter, world);
        const { isOver, stopped } = stopping(world);
        await world.clock.advance('9999ms');
        expect(isOver()).toBe(false);
        goOn.open();
        expect(await client.text).toBe('begun, ended');
        await stopped;
      });

      test(`breaks it off when the time is over, for its client to see: ${via}, through ${adapter}`, async () => {
        const left = gate();
        await using world = await startInvocation({
          via,
          listener: (_req, res) => {
            res.write('begun');
            res.once('close', () => left.open());
          },
        });
        await using client = await begunThrough(adapter, world);
        const { stopped } = stopping(world);
        await world.clock.advance('10s');
        await expect(client.text).rejects.toThrow();
        expect(client.response.complete).toBe(false);
        await Promise.all([stopped, left.opened]);
      });
    }

  test.each(WAYS)('breaks it off also for a client that does not read (%s)', async (via) => {
    await using world = await startInvocation({
      via,
      listener: (_req, res) => {
        const produce = (): void => {
          if (res.write(CHUNK)) setImmediate(produce);
          else res.once('drain', produce);
        };
        produce();
      },
    });
    const closed = gate();
    await using server = await listen((req, res) => {
      res.once('close', () => closed.open());
      nodeHandler(world.sidecar)(req, res);
    });
    using client = new RawClient(server.url);
    client.send(`GET ${PATH} HTTP/1.1`, 'host: a', '', '');
    await client.until(() => client.receivedBytes > 0);
    client.socket.pause();
    const { stopped } = stopping(world);
    await world.clock.advance('10s');
    await Promise.all([stopped, closed.opened]);
    expect(client.socket.isPaused()).toBe(true);
  });

  test.each(WAYS)('lets a call end whose body is still coming (%s)', async (via) => {
    const reached = gate();
    await using world = await startInvocation({
      via,
      listener: (req, res) => {
        req.once('data', () => reached.open());
        void text(req).then((text) => res.end(`got ${text}`));
      },
    });
    const { req, answered } = open(world);
    req.write('one, ');
    await reached.opened;
    const { isOver, stopped } = stopping(world);
    await world.clock.advance('9999ms');
    expect(isOver()).toBe(false);
    req.end('two');
    const response = await answered;
    expect([response.statusCode, await text(response)]).toEqual([200, 'got one, two']);
    await stopped;
  });

  test('answers a publish whose body comes to its end meanwhile', async () => {
    await using world = await startInvocation({ components: [memoryPubSub('pubsub')] });
    const req = httpRequest(`${world.server.url}/v1.0/publish/pubsub/orders`, { method: 'POST', agent: false });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      req.once('response', resolve).once('error', reject);
    });
    req.write('one');
    await expect.poll(() => world.sidecar.answers.underWay).toBe(1);
    const { isOver, stopped } = stopping(world);
    await world.clock.advance('9999ms');
    expect(isOver()).toBe(false);
    req.end('two');
    const response = await answered;
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '1']);
    response.resume();
    await stopped;
  });

  test('breaks off calls in code only when all that was waited for has ended', async () => {
    const [goOn, delivered] = [gate(), gate()];
    await using world = await startInvocation({
      components: [memoryPubSub('pubsub')],
      listener: (_req, res) => {
        res.write('begun, ');
        void goOn.opened.then(() => res.end('ended'));
      },
    });
    let text = '';
    await world.sidecar.pubsub.subscribe('pubsub', 'orders', async () => {
      const reply = await world.sidecar.invocation.invoke('shop', '/x');
      delivered.open();
      text = await reply.text();
    });
    await world.sidecar.pubsub.publish('pubsub', 'orders', 1);
    await delivered.opened;
    const { isOver, stopped } = stopping(world);
    await world.clock.advance('9999ms');
    expect(isOver()).toBe(false);
    goOn.open();
    await stopped;
    expect(text).toBe('begun, ended');
  });
});

describe('an upstream that breaks off in the middle', () => {
  const breaking =
    (length: boolean): RequestListener =>
    (_req, res) => {
      if (length) res.setHeader('content-length', String(200 * 1024));
      res.write(Buffer.alloc(100 * 1024, 'x'), () => res.destroy());
    };
  for (const via of WAYS)
    for (const length of [true, false])
      for (const adapter of ['node', ...Object.keys(ADAPTERS)])
        test(`never looks complete: ${via}, ${length ? 'with' : 'without'} a length, through ${adapter}`, async () => {
          await using world = await startInvocation({ via, listener: breaking(length) });
          const mount = ADAPTERS[adapter];
          await using other = mount === undefined ? undefined : await listen(mount(world.sidecar));
          const url = other?.url ?? world.server.url;
          const response = await new Promise<IncomingMessage>((resolve, reject) => {
            httpRequest(`${url}${PATH}`, { agent: false }, resolve).once('error', reject).end();
          }).catch(() => undefined);
          if (response === undefined) return;
          expect(response.statusCode).toBe(200);
          await expect(text(response)).rejects.toThrow();
          expect(response.complete).toBe(false);
        });

  test('a small answer of known length that breaks off is 500', async () => {
    await using world = await startInvocation({
      via: 'port',
      listener: (_req, res) => {
        res.setHeader('content-length', '100');
        res.write('x', () => res.destroy());
      },
    });
    expect((await world.send('GET', PATH)).error).toEqual([500, 'ERR_DIRECT_INVOKE']);
  });

  test('an application in this process that miscounts its answer does not write into the next one', async () => {
    await using world = await startInvocation({
      listener: (req, res) => {
        res.setHeader('content-length', '5');
        res.flushHeaders();
        res.write('12345HTTP/1.1 200 OK\r\n\r\n');
        if (req.url?.includes('short')) return;
        res.end();
      },
    });
    const answer = await world.raw(`GET ${PATH} HTTP/1.1`, 'host: a', '', '');
    expect(answer).not.toContain('12345HTTP');
    expect(answer.match(/HTTP\/1\.1 200/g)?.length ?? 0).toBeLessThanOrEqual(1);
  });
});

test('a server that closes kept connections is met with new ones', async () => {
  await using world = await startInvocation();
  const service = createServer((_req, res) => res.end('ok'));
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const { port } = service.address() as AddressInfo;
  for (let round = 0; round < 3; round++) {
    expect((await world.send('GET', `/v1.0/invoke/http://127.0.0.1:${port}/method/x`)).text).toBe('ok');
    service.closeIdleConnections();
    await new Promise((resolve) => setImmediate(resolve));
  }
  service.close();
  service.closeAllConnections();
});
