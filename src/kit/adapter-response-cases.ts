import assert from 'node:assert/strict';
import { type AdapterCase, gate, handlerOf, mounted } from './adapter-case.ts';
import { RawClient, send } from './adapter-client.ts';

const get = (path = '/', method = 'GET'): string[] => [
  `${method} ${path} HTTP/1.1`,
  'host: a',
  'connection: close',
  '',
  '',
];

async function* failingAfter(...chunks: string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
  throw new Error('the body broke off');
}

const heads: readonly AdapterCase[] = [
  mounted('sends status, header fields and body', {}, () => ({
    handler: handlerOf(() => ({ status: 418, headers: { 'x-a': 'b', 'content-type': 'text/plain' }, body: 'tëa' })),
    async check(url) {
      const { status, headers, body } = await send(url);
      assert.deepEqual(
        [status, headers['x-a'], headers['content-type'], body.toString()],
        [418, 'b', 'text/plain', 'tëa'],
      );
    },
  })),
  mounted('sends all values of a repeated field', {}, () => ({
    handler: handlerOf(() => ({
      headers: { 'set-cookie': ['a=1; Path=/', 'b=2'], 'x-list': ['1', '2'], 'x-none': [] },
    })),
    async check(url) {
      const { headers } = await send(url);
      assert.deepEqual([...(headers['set-cookie'] ?? [])], ['a=1; Path=/', 'b=2']);
      assert.deepEqual([headers['x-list'], headers['x-none'] ?? ''], ['1, 2', '']);
    },
  })),
  mounted('answers HEAD with the length and without the body', {}, () => ({
    handler: handlerOf(() => ({ headers: { 'content-length': '5', 'content-type': 'text/plain' } })),
    async check(url) {
      using client = new RawClient(url);
      client.send(...get('/', 'HEAD'));
      const answer = (await client.all()).toLowerCase();
      assert.match(answer, /^http\/1\.1 200 /);
      assert.match(answer, /\r\ncontent-length: 5\r\n/);
      assert.ok(answer.endsWith('\r\n\r\n') && answer.indexOf('\r\n\r\n') === answer.length - 4, answer);
    },
  })),
  ...[204, 304].map((status) =>
    mounted(`answers ${status} without a body`, {}, () => ({
      handler: handlerOf(({ path }) => ({ status, body: path === '/empty' ? '' : failingAfter('not to be sent') })),
      async check(url) {
        for (const path of ['/empty', '/body']) {
          using client = new RawClient(url);
          client.send(...get(path));
          const answer = await client.all();
          assert.ok(answer.startsWith(`HTTP/1.1 ${status} `) && answer.endsWith('\r\n\r\n'), answer);
          assert.doesNotMatch(answer, /transfer-encoding|not to be sent/i);
        }
      },
    })),
  ),
  mounted('survives a response with an invalid header', {}, () => ({
    handler: handlerOf(({ path }) => (path === '/bad' ? { headers: { 'x-a': 'line\r\nbreak' } } : { body: 'good' })),
    async check(url) {
      assert.equal((await send(`${url}/bad`)).status, 500);
      assert.equal((await send(`${url}/good`)).body.toString(), 'good');
    },
  })),
];

const streams: readonly AdapterCase[] = [
  mounted('sends the head first, then each chunk as soon as it is ready', {}, () => {
    const first = gate();
    const second = gate();
    async function* events(): AsyncGenerator<Uint8Array> {
      await first.opened;
      yield Buffer.from('data: 1\n\n');
      await second.opened;
      yield Buffer.from('data: 2\n\n');
    }
    return {
      handler: handlerOf(() => ({ headers: { 'content-type': 'text/event-stream' }, body: events() })),
      async check(url) {
        using client = new RawClient(url);
        client.send(...get());
        await client.until(() => client.received.includes('\r\n\r\n'));
        first.open();
        await client.until(() => client.received.includes('data: 1'));
        assert.ok(!client.received.includes('data: 2'));
        second.open();
        assert.match(await client.all(), /data: 2[\s\S]*\r\n0\r\n\r\n$/);
      },
    };
  }),
  mounted('never makes an aborted chunked body look complete', {}, () => ({
    handler: handlerOf(({ path }) => ({ body: path === '/late' ? failingAfter('one', 'two') : failingAfter() })),
    async check(url) {
      for (const path of ['/late', '/at-once']) {
        using client = new RawClient(url);
        client.send(...get(path));
        const answer = await client.all();
        // A 500 response is correct too, as long as nothing was sent before.
        assert.ok(!answer.endsWith('0\r\n\r\n') || answer.startsWith('HTTP/1.1 500'), answer);
        await assert.rejects(async () => {
          assert.equal((await send(url + path)).status, 200);
        }, path);
      }
    },
  })),
  mounted('never makes an aborted body of known length look complete', {}, () => ({
    handler: handlerOf(() => ({ headers: { 'content-length': '10' }, body: failingAfter('12345') })),
    async check(url) {
      await assert.rejects(send(url));
    },
  })),
  mounted('sends a stream without chunks', {}, () => ({
    handler: handlerOf(() => ({ body: (async function* () {})() })),
    async check(url) {
      const { status, body } = await send(url);
      assert.deepEqual([status, body.length], [200, 0]);
    },
  })),
];

/** Cases about sending responses. */
export const responseCases: readonly AdapterCase[] = [...heads, ...streams];
