import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { createGzip, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { AppChannel } from '../../src/app/channel.ts';
import type { RequestListener } from '../../src/app/in-process.ts';
import { request, type SidecarResponse } from '../../src/http/message.ts';
import { bytesOf, gate } from '../../src/kit/adapter-case.ts';
import { stalled } from '../../src/kit/adapter-client.ts';
import { Unhandled } from '../support/unhandled.ts';
import { listenerWays, open } from './open.ts';

const CHUNK = Buffer.alloc(64 * 1024, 'x');
const STREAM_BYTES = 64 * 1024 * 1024;
/** What sockets and we may hold between two who wait. */
const UNDERWAY_BYTES = 32 * 1024 * 1024;

describe.each(Object.entries(listenerWays))('request listener %s', (name, way) => {
  const calling = async (listener: RequestListener, check: (channel: AppChannel) => Promise<void>): Promise<void> => {
    await using opened = await open(way, listener);
    await check(opened.channel);
  };
  const answered = (
    listener: RequestListener,
    method = 'GET',
  ): Promise<SidecarResponse & { bytes: Buffer; text: string }> =>
    new Promise((resolve, reject) => {
      calling(listener, async (channel) => {
        const reply = await channel.handle(request(method, '/path?a=b', method === 'POST' ? { body: { a: 1 } } : {}));
        const bytes = await bytesOf(reply.body);
        resolve({ ...reply, bytes, text: bytes.toString() });
      }).catch(reject);
    });

  test('header fields given to writeHead arrive', async () => {
    const reply = await answered((_req, res) => {
      res.setHeader('x-a', 'replaced');
      res.writeHead(201, 'Made', { 'X-A': '1', 'x-number': 2, 'set-cookie': ['a=1', 'b=2'] });
      res.end('made');
    });
    expect([reply.status, reply.headers['x-a'], reply.headers['x-number'], reply.text]).toEqual([
      201,
      '1',
      '2',
      'made',
    ]);
    expect(reply.headers['set-cookie']).toEqual(['a=1', 'b=2']);
  });

  test('every form of write and end is understood', async () => {
    const called: string[] = [];
    const ended = gate();
    const reply = await answered((_req, res) => {
      res.write('6f6e65', 'hex', () => called.push('write'));
      res.write(new Uint8Array(Buffer.from('two')), () => called.push('write bytes'));
      res.end(Buffer.from('three').toString('base64'), 'base64', () => {
        called.push('end');
        ended.open();
      });
    });
    await ended.opened;
    expect(reply.text).toBe('onetwothree');
    expect(called).toEqual(['write', 'write bytes', 'end']);
  });

  test('a buffer may be filled anew when its write has called back', async () => {
    const reply = await answered((_req, res) => {
      const buffer = Buffer.alloc(CHUNK.length, 'a');
      res.write(buffer, () => res.end(buffer.fill('b')));
    });
    const sent = Buffer.concat([Buffer.alloc(CHUNK.length, 'a'), Buffer.alloc(CHUNK.length, 'b')]);
    expect(reply.bytes.equals(sent)).toBe(true);
  });

  test('a reader that waits holds up an application that waits for its writes to call back', async () => {
    let made = 0;
    await calling(
      async (_req, res) => {
        for (; made < STREAM_BYTES; made += CHUNK.length) await new Promise((resolve) => res.write(CHUNK, resolve));
        res.end();
      },
      async (channel) => {
        const { body } = await channel.handle(request('GET', '/'));
        assert.ok((await stalled(() => made)) < UNDERWAY_BYTES);
        assert.equal((await bytesOf(body)).length, STREAM_BYTES);
      },
    );
  });

  // On a port Node may drop the callback at that moment.
  test.runIf(name === 'in this process')('a write that waits for a reader fails when the caller goes', async () => {
    const told = gate<unknown>();
    await calling(
      (_req, res) => {
        let left = STREAM_BYTES / CHUNK.length;
        const more = (error?: Error | null): void => {
          if (error || left-- === 0) told.open(error);
          else res.write(CHUNK, more);
        };
        more();
      },
      async (channel) => {
        const caller = new AbortController();
        await channel.handle(request('GET', '/', { signal: caller.signal }));
        caller.abort(new Error('enough'));
        assert.ok((await told.opened) instanceof Error);
      },
    );
  });

  test('a second end and a write after the end change nothing', async () => {
    const failed = gate<unknown>();
    const reply = await answered((_req, res) => {
      res.on('error', () => undefined);
      res.end('once');
      res.end();
      res.write('more', failed.open);
    });
    expect(reply.text).toBe('once');
    expect(await failed.opened).toBeInstanceOf(Error);
  });

  test('finish and close are told, in this order, with the flags that middlewares look at', async () => {
    const told: unknown[] = [];
    const closed = gate();
    const flags = (res: ServerResponse): unknown[] => [res.headersSent, res.writableEnded, res.writableFinished];
    await answered((_req, res) => {
      told.push(flags(res));
      res.on('finish', () => told.push('finish', flags(res)));
      res.on('close', () => {
        told.push('close', res.destroyed);
        closed.open();
      });
      res.end('x');
    });
    await closed.opened;
    expect(told).toEqual([[false, false, false], 'finish', [true, true, true], 'close', true]);
  });

  test('a middleware that replaces write, end and writeHead sees all of an answer', async () => {
    const reply = await answered((_req, res) => {
      compressed(res);
      res.setHeader('content-type', 'text/plain');
      res.write('compressed ');
      res.end('text');
    });
    expect(reply.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(reply.bytes).toString()).toBe('compressed text');
  });

  test('a piped stream arrives whole, and is destroyed when the caller goes', async () => {
    const destroyed = gate();
    await calling(
      (req, res) => {
        const source = Readable.from(
          (async function* () {
            for (let sent = 0; req.url === '/endless' || sent < 20; sent++)
              yield await new Promise<Buffer>((resolve) => setImmediate(() => resolve(CHUNK)));
          })(),
        );
        source.once('close', destroyed.open);
        pipeline(source, res, () => undefined);
      },
      async (channel) => {
        const whole = await channel.handle(request('GET', '/'));
        assert.equal((await bytesOf(whole.body)).length, 20 * CHUNK.length);
        const caller = new AbortController();
        const { body } = await channel.handle(request('GET', '/endless', { signal: caller.signal }));
        caller.abort(new Error('enough'));
        await assert.rejects(bytesOf(body));
        await destroyed.opened;
      },
    );
  });

  test('the application hears of a caller who goes, on request, response and socket', async () => {
    const begun = gate();
    const told: string[] = [];
    const all = gate();
    await calling(
      (req, res) => {
        const tell = (what: string) => () => {
          told.push(what);
          if (told.length === 3) all.open();
        };
        req.once('close', tell('request'));
        req.on('error', () => undefined);
        res.once('close', tell('response'));
        req.socket.once('close', tell('socket'));
        begun.open();
      },
      async (channel) => {
        const caller = new AbortController();
        const reply = assert.rejects(channel.handle(request('GET', '/', { signal: caller.signal })), /enough/);
        await begun.opened;
        caller.abort(new Error('enough'));
        await reply;
        await all.opened;
        assert.deepEqual(told.sort(), ['request', 'response', 'socket']);
      },
    );
  });

  test.each<[string, (res: ServerResponse) => unknown]>([
    ['the response is destroyed', (res) => res.destroy()],
    ['the response is destroyed with an error', (res) => res.destroy(new Error('on purpose'))],
    ['the socket is destroyed', (res) => res.socket?.destroy()],
    ['the response is destroyed in the middle', (res) => begun(res).destroy()],
    ['the socket is destroyed in the middle', (res) => begun(res).socket?.destroy()],
  ])('%s: the caller never gets a complete answer', async (_how, end) => {
    await assert.rejects(answered((_req, res) => void end(res)));
  });

  test('what a caller keeps in an AsyncLocalStorage is not seen by the application', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const inside = gate<unknown>();
    await calling(
      async (_req, res) => {
        seen.push(storage.getStore());
        storage.run('inside', () => setImmediate(() => inside.open(storage.getStore())));
        res.end();
      },
      async (channel) => {
        await storage.run('outside', async () => {
          await channel.handle(request('GET', '/'));
          seen.push(storage.getStore());
        });
        assert.deepEqual([...seen, await inside.opened], [undefined, 'outside', 'inside']);
      },
    );
  });

  test('hints before the answer do no harm', async () => {
    const reply = await answered((_req, res) => {
      res.writeProcessing();
      res.writeEarlyHints({ link: '</a.css>; rel=preload' });
      res.end('then the answer');
    });
    expect([reply.status, reply.text]).toEqual([200, 'then the answer']);
  });

  test('flushHeaders answers before the body', async () => {
    const goOn = gate();
    await calling(
      (_req, res) => {
        res.setHeader('content-type', 'text/event-stream').flushHeaders();
        void goOn.opened.then(() => res.end('data: 1\n\n'));
      },
      async (channel) => {
        const reply = await channel.handle(request('GET', '/'));
        assert.equal(reply.headers['content-type'], 'text/event-stream');
        goOn.open();
        assert.equal((await bytesOf(reply.body)).toString(), 'data: 1\n\n');
      },
    );
  });

  test('a body that breaks off fails the application and the call', async () => {
    const failed = gate<unknown>();
    async function* breaking(): AsyncGenerator<Uint8Array> {
      yield CHUNK;
      throw new Error('the caller broke off');
    }
    await calling(
      (req, res) => {
        bytesOf(req).then(
          () => res.end('all read'),
          (error) => {
            failed.open(error);
            res.destroy();
          },
        );
      },
      async (channel) => {
        await assert.rejects(channel.handle(request('POST', '/', { body: breaking() })));
        assert.ok((await failed.opened) instanceof Error);
      },
    );
  });

  test('a body that is a stream of text arrives as UTF-8', async () => {
    await calling(
      (req, res) => void req.pipe(res),
      async (channel) => {
        const { body } = await channel.handle(request('POST', '/', { body: Readable.from('hellö') }));
        assert.equal((await bytesOf(body)).toString(), 'hellö');
      },
    );
  });

  test('a body of what is neither bytes nor text fails the call, and nothing else', async () => {
    using unhandled = new Unhandled();
    async function* objects(): AsyncGenerator<unknown> {
      yield {};
    }
    await calling(
      (req, res) => {
        bytesOf(req).then(
          () => res.end('all read'),
          () => res.destroy(),
        );
      },
      async (channel) => {
        await assert.rejects(channel.handle(request('POST', '/', { body: objects() })));
      },
    );
    assert.deepEqual(await unhandled.errors(), []);
  });

  // On a port such a fault ends the whole process, which is the application's own affair.
  test.runIf(name === 'in this process').each<[string, RequestListener]>([
    ['throws', () => fault()],
    ['rejects', async () => fault()],
    ['throws in the middle', (_req, res) => fault(begun(res))],
    ['rejects in the middle', async (_req, res) => fault(begun(res))],
  ])('a listener that %s fails the call', async (_how, listener) => {
    await assert.rejects(answered(listener), /on purpose/);
  });
});

function begun(res: ServerResponse): ServerResponse {
  res.write('begun');
  return res;
}

function fault(_after?: unknown): never {
  throw new Error('on purpose');
}

/** Does to a response what `compression` does. */
function compressed(res: ServerResponse): void {
  const gzip = createGzip();
  const plain = { write: res.write.bind(res), end: res.end.bind(res), writeHead: res.writeHead };
  const replacements = {
    write: (chunk: string) => {
      if (!res.headersSent) res.writeHead(res.statusCode);
      return gzip.write(chunk);
    },
    end: (chunk: string) => {
      if (!res.headersSent) res.writeHead(res.statusCode);
      gzip.end(chunk);
      return res;
    },
    writeHead(this: ServerResponse, status: number) {
      res.removeHeader('content-length');
      res.setHeader('content-encoding', 'gzip');
      return plain.writeHead.call(this, status);
    },
  };
  Object.assign(res, replacements);
  gzip.on('data', (chunk: Buffer) => plain.write(chunk) || gzip.pause());
  gzip.on('end', () => plain.end());
  res.on('drain', () => gzip.resume());
}
