import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { readBody } from '../../src/http/body.ts';
import { request } from '../../src/http/message.ts';

async function* chunks(...list: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of list) yield Buffer.from(chunk);
}

const tooLarge = expect.objectContaining({ code: 'ERR_BODY_TOO_LARGE', status: 413 });

describe('readBody', () => {
  test.each<[what: string, body: () => unknown]>([
    ['bytes', () => Buffer.from('hello')],
    ['a view of a larger buffer', () => new Uint8Array(new TextEncoder().encode('--hello--').buffer, 2, 5)],
    ['an async iterable', () => chunks('hel', '', 'lo')],
    ['a Node stream of one chunk', () => Readable.from([Buffer.from('hello')])],
    ['a Node stream of several chunks', () => Readable.from([Buffer.from('he'), Buffer.from('l'), Buffer.from('lo')])],
  ])('reads %s up to the limit and not beyond', async (_, body) => {
    expect((await readBody(request('POST', '/', { body: body() }), 5)).toString()).toBe('hello');
    await expect(readBody(request('POST', '/', { body: body() }), 4)).rejects.toEqual(tooLarge);
  });

  test('no body is no bytes', async () => {
    expect((await readBody(request('POST', '/'), 0)).length).toBe(0);
    expect((await readBody(request('POST', '/', { body: Readable.from([]) }), 0)).length).toBe(0);
  });

  test('an announced length over the limit is refused before anything is read', async () => {
    let isRead = false;
    const body = (async function* () {
      isRead = true;
      yield Buffer.from('x');
    })();
    const headers = { 'content-length': '6' };
    await expect(readBody(request('POST', '/', { headers, body }), 5)).rejects.toEqual(tooLarge);
    expect(isRead).toBe(false);
  });

  test('a stream that was closed before it is read is refused, not waited for', async () => {
    const body = new PassThrough();
    body.write('hel');
    body.destroy();
    await once(body, 'close');
    await expect(readBody(request('POST', '/', { body }), 5)).rejects.toThrow('the caller went away');
  });

  test('a stream that failed before it is read is refused with its error', async () => {
    const body = new PassThrough().on('error', () => undefined);
    body.destroy(new Error('the disk is gone'));
    await new Promise((resolve) => body.once('close', resolve));
    await expect(readBody(request('POST', '/', { body }), 5)).rejects.toThrow('the disk is gone');
  });

  test('a stream that goes on for ever is left as soon as it is over the limit', async () => {
    let given = 0;
    const endless = (async function* () {
      for (;;) {
        given++;
        yield Buffer.alloc(1_000);
      }
    })();
    await expect(readBody(request('POST', '/', { body: endless }), 5_000)).rejects.toEqual(tooLarge);
    expect(given).toBe(6);
  });

  test('a stream that breaks off rejects with its error', async () => {
    const stream = new PassThrough();
    const reading = readBody(request('POST', '/', { body: stream }), 100);
    stream.write('hel');
    stream.destroy(new Error('reset'));
    await expect(reading).rejects.toThrow('reset');
  });

  test('a stream that breaks off while it arrives rejects', async () => {
    const body = new PassThrough();
    const reading = readBody(request('POST', '/', { headers: { 'content-length': '5' }, body }), 100);
    body.write('hel');
    body.destroy();
    await expect(reading).rejects.toThrow('before the body was complete');
  });

  test('a stream of text is read as UTF-8', async () => {
    for (const body of [Readable.from(['né', 'e']), Readable.from(['née'])]) {
      const read = await readBody(request('POST', '/', { body: body as AsyncIterable<never> }), 4);
      expect([Buffer.isBuffer(read), read.toString()]).toEqual([true, 'née']);
    }
  });

  test('a stream of what is neither bytes nor text rejects', async () => {
    const body = Readable.from([{ id: 1 }, { id: 2 }]) as AsyncIterable<never>;
    await expect(readBody(request('POST', '/', { body }), 100)).rejects.toThrow('a chunk of the body is an object');
  });

  test('a stream that is closed before its end rejects', async () => {
    const stream = new PassThrough();
    const reading = readBody(request('POST', '/', { body: stream }), 100);
    stream.write('hel');
    stream.destroy();
    await expect(reading).rejects.toThrow('before the body was complete');
  });
});
