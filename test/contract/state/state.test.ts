import { describe, expect, test } from 'vitest';
import { request } from '../../../src/http/message.ts';
import { keyValueStore, memoryState, type WireName } from '../../../src/index.ts';
import { TestSidecar } from '../../support/sidecar.ts';
import { startStateWorld } from '../../support/state-world.ts';

const WIRES: readonly WireName[] = ['sidecar', 'dapr'];
const STORES = ['memory', 'own'];
const each = WIRES.flatMap((wire) => STORES.map((store) => ({ wire, store })));

describe.each(each)('$store on the wire $wire', ({ wire, store }) => {
  const at = `/v1.0/state/${store}`;

  test('a value is saved, read, replaced and deleted', async () => {
    await using world = await startStateWorld({ wire });
    expect(await world.send('GET', `${at}/a`)).toMatchObject({ status: 204, text: '' });
    expect(await world.send('POST', at, [{ key: 'a', value: { n: 1 } }])).toMatchObject({ status: 204, text: '' });
    const first = await world.send('GET', `${at}/a?consistency=whatever`);
    expect(first).toMatchObject({ status: 200, json: { n: 1 }, headers: { 'content-type': 'application/json' } });
    expect(first.headers['etag']).toMatch(/^[\x21-\x7e]+$/);
    expect(first.headers).not.toHaveProperty('metadata.ttlexpiretime');
    expect((await world.send('PUT', at, [{ key: 'a', value: 2 }])).status).toBe(204);
    const second = await world.send('GET', `${at}/a`);
    expect(second.json).toBe(2);
    expect(second.headers['etag']).not.toBe(first.headers['etag']);
    expect(await world.send('DELETE', `${at}/a`)).toMatchObject({ status: 204, text: '' });
    expect((await world.send('DELETE', `${at}/a`)).status).toBe(204);
    expect(await world.send('GET', `${at}/a`)).toMatchObject({ status: 204, text: '' });
  });

  test.each([
    'null',
    '0.1234567890123',
    '123456789012345678901234567890',
    '1e400',
    '1.0',
    '"ä😀<>&\\u0000"',
    '""',
    '[]',
    '{"__proto__":{"a":1},"a":1,"a":2}',
  ])('%s comes back with every digit and character', async (text) => {
    await using world = await startStateWorld({ wire });
    await world.send('POST', at, `[ { "key" : "a" , "value" : ${text} } ] `);
    expect(await world.send('GET', `${at}/a`)).toMatchObject({ status: 200, text });
    expect((await world.send('POST', `${at}/bulk`, { keys: ['a'] })).text).toContain(`"data":${text},`);
  });

  test('without a value, null is saved; an empty list is nothing', async () => {
    await using world = await startStateWorld({ wire });
    expect((await world.send('POST', at, [])).status).toBe(204);
    await world.send('POST', at, [{ key: 'a' }]);
    expect(await world.send('GET', `${at}/a`)).toMatchObject({ status: 200, text: 'null' });
  });

  test.each([
    ['bulk', 'bulk'],
    ['transaction', 'transaction'],
    ['query', 'query'],
    ['a%2Fb', 'a/b'],
    ['a/b', 'a/b'],
    ['bulk/x', 'bulk/x'],
    ['a%20b', 'a b'],
    ['a+b', 'a+b'],
    ['__proto__', '__proto__'],
    ['%C3%A4', 'ä'],
    ['..', '..'],
    ['%25', '%'],
  ])('the path %s is the key %j', async (path, key) => {
    await using world = await startStateWorld({ wire });
    await world.save(store, key, 5);
    expect((await world.send('GET', `${at}/${path}`)).json).toBe(5);
    expect((await world.send('DELETE', `${at}/${path}`)).status).toBe(204);
    expect(await world.read(store, key)).toBeUndefined();
  });

  test('items of one key are applied in order, and each by itself', async () => {
    await using world = await startStateWorld({ wire });
    const items = [
      { key: 'a', value: 1 },
      { key: 'a', value: 2 },
      { key: 'b', value: 1, options: { concurrency: 'first-write' } },
      { key: 'b', value: 2, options: { concurrency: 'first-write' } },
      { key: 'c', value: 1 },
    ];
    expect((await world.send('POST', at, items)).error).toEqual([409, 'ERR_STATE_SAVE']);
    expect([await world.read(store, 'a'), await world.read(store, 'b'), await world.read(store, 'c')]).toEqual([
      2, 1, 1,
    ]);
  });

  describe('ETags', () => {
    test.each([
      ['POST', 'a'],
      ['DELETE', 'a'],
    ])('%s with the present one is done, with another one 409', async (method) => {
      await using world = await startStateWorld({ wire });
      const old = await world.save(store, 'a', 1);
      const etag = await world.save(store, 'a', 2);
      const code = method === 'POST' ? 'ERR_STATE_SAVE' : 'ERR_STATE_DELETE';
      const write = (key: string, tag: string): ReturnType<typeof world.send> =>
        method === 'POST'
          ? world.send('POST', at, [{ key, value: 3, etag: tag }])
          : world.send('DELETE', `${at}/${key}`, undefined, { 'if-match': tag });
      for (const wrong of [old, '*', 'x'.repeat(10_000), '0', '00', '-1']) {
        expect((await write('a', wrong)).error).toEqual([409, code]);
        expect((await write('never', wrong)).error).toEqual([409, code]);
      }
      expect(await world.read(store, 'a')).toBe(2);
      expect((await write('a', etag)).status).toBe(204);
      expect((await write('a', etag)).error).toEqual([409, code]);
    });

    test('are opaque texts in one pair of quotation marks or none; an empty one is none', async () => {
      await using world = await startStateWorld({ wire });
      const etag = await world.save(store, 'a');
      const remove = (tag: string): ReturnType<typeof world.send> =>
        world.send('DELETE', `${at}/a`, undefined, { 'if-match': tag });
      expect((await remove(`""${etag}""`)).status).toBe(409);
      expect((await remove(`"${etag}"`)).status).toBe(204);
      await world.save(store, 'a');
      expect((await remove('""')).status).toBe(204);
      await world.send('POST', at, [{ key: 'a', value: 1, etag: '' }]);
      await world.send('POST', at, [{ key: 'a', value: 2, etag: null }]);
      expect(await world.read(store, 'a')).toBe(2);
    });

    test('first-write is for a key that does not exist', async () => {
      await using world = await startStateWorld({ wire });
      const item = { key: 'a', value: 1, options: { concurrency: 'first-write', consistency: 'strong' } };
      expect((await world.send('POST', at, [item])).status).toBe(204);
      expect((await world.send('POST', at, [item])).error).toEqual([409, 'ERR_STATE_SAVE']);
      expect((await world.send('DELETE', `${at}/a?concurrency=first-write`)).error).toEqual([409, 'ERR_STATE_DELETE']);
      expect((await world.send('DELETE', `${at}/b?concurrency=first-write`)).status).toBe(204);
      const etag = await world.save(store, 'a', 2);
      expect((await world.send('POST', at, [{ ...item, etag }])).status).toBe(204);
      const last = { key: 'a', value: 3, options: { concurrency: 'last-write' } };
      expect((await world.send('POST', at, [last])).status).toBe(204);
    });

    test('of many requests with one, one is done', async () => {
      await using world = await startStateWorld({ wire });
      const etag = await world.save(store, 'a', 0);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, value) => world.send('POST', at, [{ key: 'a', value, etag }])),
      );
      expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(19);
    });
  });

  describe('TTL', () => {
    test('a value is gone when it is over, and told until then', async () => {
      await using world = await startStateWorld({ wire });
      await world.clock.advance(500);
      await world.send('POST', at, [{ key: 'a', value: 1, metadata: { ttlInSeconds: '10' } }]);
      const { headers } = await world.send('GET', `${at}/a`);
      expect(headers['metadata.ttlexpiretime']).toBe('2026-01-01T00:00:11Z');
      expect((await world.send('POST', `${at}/bulk`, { keys: ['a'] })).json).toEqual([
        { key: 'a', data: 1, etag: headers['etag'], metadata: { ttlExpireTime: '2026-01-01T00:00:11Z' } },
      ]);
      await world.clock.advance(9_999);
      expect(await world.read(store, 'a')).toBe(1);
      await world.clock.advance(1);
      expect(await world.read(store, 'a')).toBeUndefined();
      expect((await world.send('POST', at, [{ key: 'a', etag: headers['etag'] }])).status).toBe(409);
    });

    test('a save without one clears it; that of the query goes before that of the item', async () => {
      await using world = await startStateWorld({ wire });
      await world.send('POST', at, [{ key: 'a', metadata: { ttlInSeconds: '10' } }, { key: 'b' }]);
      await world.save(store, 'a');
      await world.send('POST', `${at}?metadata.ttlInSeconds=5`, [{ key: 'b', metadata: { ttlInSeconds: '1000' } }]);
      await world.clock.advance(20_000);
      expect([await world.read(store, 'a'), await world.read(store, 'b')]).toEqual(['a', undefined]);
    });

    test.each(['-1', '0', ''])('%j is none', async (ttlInSeconds) => {
      await using world = await startStateWorld({ wire, store: { defaultTtl: 1_000 } });
      await world.send('POST', at, [{ key: 'a', metadata: { ttlInSeconds } }, { key: 'b' }]);
      await world.clock.advance(5_000);
      expect([await world.read(store, 'a'), await world.read(store, 'b')]).toEqual([null, undefined]);
    });

    test.each(['-2', '1e3', ' 5', '5.0', '2147483648', '9999999999', 'x'])('%j is refused', async (ttlInSeconds) => {
      await using world = await startStateWorld({ wire });
      const answer = await world.send('POST', at, [{ key: 'a' }, { key: 'b', metadata: { ttlInSeconds } }]);
      expect(answer.error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
      expect(await world.read(store, 'a')).toBeUndefined();
    });
  });

  describe('bulk', () => {
    test('keys are answered in order, repeated ones repeated, missing ones by their key', async () => {
      await using world = await startStateWorld({ wire });
      const etag = await world.save(store, 'a', { n: 1 });
      const body = { keys: ['b', 'a', 'b', 'a'], parallelism: -5, metadata: { partitionKey: 'x' } };
      const { status, json } = await world.send('PUT', `${at}/bulk`, body);
      const found = { key: 'a', data: { n: 1 }, etag };
      expect([status, json]).toEqual([200, [{ key: 'b' }, found, { key: 'b' }, found]]);
    });

    test.each([{}, { keys: [] }, { keys: null }])('%j is an empty list', async (body) => {
      await using world = await startStateWorld({ wire });
      expect(await world.send('POST', `${at}/bulk`, body)).toMatchObject({ status: 200, json: [] });
    });

    test('every answer shows one state', async () => {
      await using world = await startStateWorld({ wire });
      const keys = ['a', 'b', 'c'];
      const all = (value: number): object => ({
        operations: keys.map((key) => ({ operation: 'upsert', request: { key, value } })),
      });
      const writes = Array.from({ length: 30 }, (_, n) => world.send('POST', `${at}/transaction`, all(n)));
      for (let reads = 0; reads < 30; reads++) {
        const { json } = await world.send('POST', `${at}/bulk`, { keys });
        expect(new Set((json as readonly { readonly data: unknown }[]).map(({ data }) => data)).size).toBe(1);
      }
      await Promise.all(writes);
    });
  });

  describe('transactions', () => {
    const upsert = (request: object): object => ({ operation: 'upsert', request });
    const remove = (request: object): object => ({ operation: 'delete', request });

    test('all operations are done, or none', async () => {
      await using world = await startStateWorld({ wire });
      const etag = await world.save(store, 'a', 1);
      await world.save(store, 'b', 1);
      const send = (...operations: readonly object[]): ReturnType<typeof world.send> =>
        world.send('POST', `${at}/transaction`, { operations, metadata: null });
      const wrong = await send(
        upsert({ key: 'a', value: 2, etag }),
        remove({ key: 'b', etag: 'x' }),
        upsert({ key: 'c' }),
      );
      expect(wrong.error).toEqual([409, 'ERR_STATE_TRANSACTION']);
      expect([await world.read(store, 'a'), await world.read(store, 'b'), await world.read(store, 'c')]).toEqual([
        1,
        1,
        undefined,
      ]);
      const right = await send(
        upsert({ key: 'a', value: 2, etag }),
        remove({ key: 'b' }),
        upsert({ key: 'c', value: 3 }),
      );
      expect(right).toMatchObject({ status: 204, text: '' });
      expect([await world.read(store, 'a'), await world.read(store, 'b'), await world.read(store, 'c')]).toEqual([
        2,
        undefined,
        3,
      ]);
    });

    test.each([
      ['two upserts', [upsert({ key: 'a', value: 1 }), upsert({ key: 'a', value: 2 })], 2],
      ['upsert, delete', [upsert({ key: 'a', value: 1 }), remove({ key: 'a' })], undefined],
      [
        'delete, first-write',
        [remove({ key: 'a' }), upsert({ key: 'a', value: 3, options: { concurrency: 'first-write' } })],
        3,
      ],
      [
        'upsert, first-write',
        [upsert({ key: 'a' }), upsert({ key: 'a', options: { concurrency: 'first-write' } })],
        409,
      ],
      ['upsert, ETag of before', [upsert({ key: 'a' }), upsert({ key: 'a', etag: 'THE ETAG' })], 409],
      ['ETag, upsert', [upsert({ key: 'a', value: 1, etag: 'THE ETAG' }), upsert({ key: 'a', value: 5 })], 5],
      ['ETag, delete', [upsert({ key: 'a', value: 1, etag: 'THE ETAG' }), remove({ key: 'a' })], undefined],
    ])('operations on one key take effect in order: %s', async (_, operations, expected) => {
      await using world = await startStateWorld({ wire });
      const etag = await world.save(store, 'a', 0);
      const body = JSON.stringify({ operations }).replaceAll('THE ETAG', etag);
      const { status } = await world.send('POST', `${at}/transaction`, body);
      expect(status).toBe(expected === 409 ? 409 : 204);
      expect(await world.read(store, 'a')).toBe(expected === 409 ? 0 : expected);
    });

    test('metadata of the body stand behind those of the operation, those of the query before', async () => {
      await using world = await startStateWorld({ wire });
      const metadata = { ttlInSeconds: '10' };
      const operations = [upsert({ key: 'a' }), upsert({ key: 'b', metadata: { ttlInSeconds: '100' } })];
      await world.send('POST', `${at}/transaction`, { operations, metadata });
      await world.clock.advance(20_000);
      expect([await world.read(store, 'a'), await world.read(store, 'b')]).toEqual([undefined, null]);
      await world.send('POST', `${at}/transaction?metadata.ttlInSeconds=5`, { operations, metadata });
      await world.clock.advance(6_000);
      expect(await world.read(store, 'b')).toBeUndefined();
    });

    test('no operations are nothing; an unknown one, and too many, are refused', async () => {
      await using world = await startStateWorld({ wire });
      for (const body of [{}, { operations: [] }, { operations: null }])
        expect((await world.send('POST', `${at}/transaction`, body)).status).toBe(204);
      const unknown = { operations: [upsert({ key: 'a' }), { operation: 'increment', request: { key: 'a' } }] };
      const refused = await world.send('POST', `${at}/transaction`, unknown);
      expect(refused.error).toEqual([400, 'ERR_NOT_SUPPORTED_STATE_OPERATION']);
      const many = { operations: Array.from({ length: 10_001 }, () => upsert({ key: 'a' })) };
      const answer = await world.send('POST', `${at}/transaction`, many);
      expect(answer.error).toEqual([400, 'ERR_STATE_STORE_TOO_MANY_TRANSACTIONS']);
      expect(answer.json).toMatchObject({
        details: [
          { resource_type: 'state', resource_name: store },
          {
            reason: wire === 'dapr' ? 'DAPR_STATE_TOO_MANY_TRANSACTIONS' : 'SIDECAR_STATE_TOO_MANY_TRANSACTIONS',
            metadata: { currentOpsTransaction: '10001', maxOpsPerTransaction: '10000' },
          },
        ],
      });
      expect(await world.read(store, 'a')).toBeUndefined();
      const most = { operations: Array.from({ length: 10_000 }, (_, n) => upsert({ key: `k${n}`, value: n })) };
      expect((await world.send('POST', `${at}/transaction`, most)).status).toBe(204);
      expect(await world.read(store, 'k9999')).toBe(9_999);
    });
  });
});

describe.each(WIRES)('on the wire %s', (wire) => {
  const key = (text: string): object => ({ key: text, value: 1 });

  test.each([
    ['POST', '/v1.0/state/memory', ''],
    ['POST', '/v1.0/state/memory', 'null'],
    ['POST', '/v1.0/state/memory', '{}'],
    ['POST', '/v1.0/state/memory', '[{"key":"a","value":1}'],
    ['POST', '/v1.0/state/memory', '[{"key":"a","value":1}] x'],
    ['POST', '/v1.0/state/memory', '[1]'],
    ['POST', '/v1.0/state/memory', '[null]'],
    ['POST', '/v1.0/state/memory', Buffer.from([0x5b, 0xff, 0x5d])],
    ['POST', '/v1.0/state/memory', [key('good'), { value: 1 }]],
    ['POST', '/v1.0/state/memory', [key('good'), key('')]],
    ['POST', '/v1.0/state/memory', [key('good'), { key: 5 }]],
    ['POST', '/v1.0/state/memory', [key('good'), { key: null }]],
    ['POST', '/v1.0/state/memory', [key('good'), key('x'.repeat(513))]],
    ['POST', '/v1.0/state/memory', [key('good'), key('ä'.repeat(257))]],
    ['POST', '/v1.0/state/memory', '[{"key":"good"},{"key":"\\ud800"}]'],
    ['POST', '/v1.0/state/memory', [key('good'), { key: 'a', etag: 5 }]],
    ['POST', '/v1.0/state/memory', [key('good'), { key: 'a', metadata: { a: 1 } }]],
    ['POST', '/v1.0/state/memory', [key('good'), { key: 'a', metadata: ['a'] }]],
    ['POST', '/v1.0/state/memory', [key('good'), { key: 'a', options: 'first-write' }]],
    ['POST', '/v1.0/state/memory', [key('good'), { key: 'a', options: { concurrency: 'first' } }]],
    ['POST', '/v1.0/state/memory', [key('good'), { key: 'a', options: { consistency: 'weak' } }]],
    ['POST', '/v1.0/state/memory?metadata.ttlInSeconds=x', [key('good')]],
    ['POST', '/v1.0/state/memory/bulk', { keys: 'a' }],
    ['POST', '/v1.0/state/memory/bulk', { keys: [1] }],
    ['POST', '/v1.0/state/memory/bulk', { keys: ['a||b'] }],
    ['POST', '/v1.0/state/memory/bulk', { keys: ['a'], parallelism: 'x' }],
    ['POST', '/v1.0/state/memory/bulk', '[]'],
    ['POST', '/v1.0/state/memory/transaction', '[]'],
    ['POST', '/v1.0/state/memory/transaction', { operations: {} }],
    ['POST', '/v1.0/state/memory/transaction', { operations: [{ operation: 'upsert' }] }],
    ['POST', '/v1.0/state/memory/transaction', { operations: [{ operation: 'upsert', request: {} }] }],
    ['POST', '/v1.0/state/memory/transaction', { operations: [{ operation: 'upsert', request: key('good') }, 5] }],
    ['GET', `/v1.0/state/memory/${'x'.repeat(513)}`, undefined],
    ['GET', '/v1.0/state/memory/a%7C%7Cb', undefined],
    ['DELETE', '/v1.0/state/memory/a?concurrency=first', undefined],
    ['DELETE', '/v1.0/state/memory/a%7C%7Cb', undefined],
  ])('%s %s %j is refused, and nothing is written', async (method, path, body) => {
    await using world = await startStateWorld({ wire });
    const answer = await world.send(method, path, body);
    expect(answer.error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
    expect(await world.read('memory', 'good')).toBeUndefined();
  });

  test('a key with || is told with its field', async () => {
    await using world = await startStateWorld({ wire });
    const { json } = await world.send('POST', '/v1.0/state/memory', [key('a||b')]);
    const prefix = wire === 'dapr' ? 'DAPR_' : 'SIDECAR_';
    expect(json).toMatchObject({
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ResourceInfo', resource_type: 'state', resource_name: 'memory' },
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: `${prefix}STATE_ILLEGAL_KEY` },
        { '@type': 'type.googleapis.com/google.rpc.BadRequest', field_violations: [{ field: 'a||b' }] },
      ],
    });
  });

  test.each([
    ['POST', '/v1.0/state/none'],
    ['POST', '/v1.0/state/none/bulk'],
    ['POST', '/v1.0/state/none/transaction'],
    ['POST', '/v1.0-alpha1/state/none/query'],
    ['GET', '/v1.0/state/none/a'],
    ['DELETE', '/v1.0/state/none/a||b'],
  ])('%s %s: an unknown store is told before the body is read', async (method, path) => {
    await using world = await startStateWorld({ wire });
    const answer = await world.send(method, path, method === 'POST' ? 'x'.repeat(5_000_000) : undefined);
    expect(answer.error).toEqual([400, 'ERR_STATE_STORE_NOT_FOUND']);
    const reason = wire === 'dapr' ? 'DAPR_STATE_NOT_FOUND' : 'SIDECAR_STATE_NOT_FOUND';
    expect(answer.json).toMatchObject({ details: [{ reason, metadata: { appID: 'shop' } }] });
  });

  test('without any store, none is configured; one of other applications does not count', async () => {
    await using alone = await new TestSidecar({
      wire,
      components: [keyValueStore('theirs', { scopes: ['other'] })],
    }).start();
    const { status, body } = await alone.sidecar.handle(request('GET', '/v1.0/state/theirs/a'));
    const json: unknown = JSON.parse(Buffer.from(body as Uint8Array).toString());
    expect([status, json]).toMatchObject([500, { errorCode: 'ERR_STATE_STORE_NOT_CONFIGURED' }]);
  });

  test.each([
    ['PATCH', '/v1.0/state/memory'],
    ['GET', '/v1.0/state/memory'],
    ['POST', '/v1.0/state/memory/a'],
    ['PATCH', '/v1.0/state/memory/bulk'],
    ['POST', '/v1.0/state/memory/query'],
    ['GET', '/v1.0-alpha1/state/memory/query'],
  ])('%s %s: 405', async (method, path) => {
    await using world = await startStateWorld({ wire });
    expect((await world.send(method, path)).error).toEqual([405, 'ERR_METHOD_NOT_ALLOWED']);
  });

  test('a body over the limit: 413', async () => {
    await using world = await startStateWorld({ wire, bodyLimitBytes: 1_000 });
    const body = [{ key: 'a', value: 'x'.repeat(1_000) }];
    for (const path of ['memory', 'memory/bulk', 'memory/transaction'])
      expect((await world.send('POST', `/v1.0/state/${path}`, body)).error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
  });

  test('metadata lists the stores with what they can do', async () => {
    await using world = await startStateWorld({ wire });
    const { json } = await world.send('GET', '/v1.0/metadata');
    const can = ['ETAG', wire === 'dapr' ? 'TRANSACTIONAL' : 'TRANSACTION', 'TTL', 'QUERY_API'];
    expect((json as { readonly components: unknown }).components).toEqual([
      { name: 'memory', type: 'state.in-memory', version: 'v1', capabilities: can },
      { name: 'own', type: 'state.durable', version: 'v1', capabilities: [...can, 'ACTOR'] },
    ]);
  });
});

test('an ETag as an object is one on the wire dapr only', async () => {
  await using dapr = await startStateWorld({ wire: 'dapr' });
  const etag = await dapr.save('memory', 'a');
  const item = (value: string): object[] => [{ key: 'a', value: 1, etag: { value } }];
  expect((await dapr.send('POST', '/v1.0/state/memory?', item('x'))).status).toBe(409);
  expect((await dapr.send('POST', '/v1.0/state/memory?', item(etag))).status).toBe(204);
  await using ours = await startStateWorld();
  expect((await ours.send('POST', '/v1.0/state/memory', item('x'))).status).toBe(400);
});

test('names of members may be in any case on the wire dapr, as in Dapr, and only there', async () => {
  await using dapr = await startStateWorld({ wire: 'dapr' });
  const save = '[{"Key":"a","Value":{"Key":1}},{"KEY":"b","value":1,"VALUE":2,"Metadata":{"TTLINSECONDS":"x"}}]';
  expect((await dapr.send('POST', '/v1.0/state/own', save)).status).toBe(204);
  const read = await dapr.send('POST', '/v1.0/state/own/bulk', { Keys: ['a', 'b'] });
  expect(read.json).toMatchObject([{ data: { Key: 1 } }, { data: 2 }]);
  const wrong = { Key: 'a', Value: 2, ETag: 'x' };
  expect((await dapr.send('POST', '/v1.0/state/own', [wrong])).error).toEqual([409, 'ERR_STATE_SAVE']);
  const first = { Key: 'a', Options: { Concurrency: 'first-write' } };
  const operations = [{ Operation: 'upsert', Request: first }];
  const transaction = await dapr.send('POST', '/v1.0/state/own/transaction', { Operations: operations });
  expect(transaction.error).toEqual([409, 'ERR_STATE_TRANSACTION']);

  await using sidecar = await startStateWorld({ wire: 'sidecar' });
  expect((await sidecar.send('POST', '/v1.0/state/own', save)).error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
});

test('10^5 items, and values nested 10^5 deep, are saved', async () => {
  await using world = await startStateWorld();
  const items = Array.from({ length: 100_000 }, (_, n) => `{"key":"k${n % 50_000}"}`);
  expect((await world.send('POST', '/v1.0/state/memory', `[${items.join()}]`)).status).toBe(204);
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  expect((await world.send('POST', '/v1.0/state/memory', `[{"key":"deep","value":${deep}}]`)).status).toBe(204);
  expect((await world.send('GET', '/v1.0/state/memory/deep')).text).toBe(deep);
});

test('the list of allowed APIs decides about the routes', async () => {
  await using world = await startStateWorld({ api: { denied: [{ name: 'state', version: 'v1alpha1' }] } });
  expect((await world.send('POST', '/v1.0-alpha1/state/memory/query', {})).status).toBe(404);
  expect((await world.send('GET', '/v1.0/state/memory/a')).status).toBe(204);
});

test('a value that another program lets expire after the year 9999 can be read', async () => {
  const plain = keyValueStore('late', { store: memoryState() });
  const late: typeof plain = {
    ...plain,
    open: async (context) => {
      const store = await plain.open(context);
      const read: typeof store.read = async (keys) =>
        (await store.read(keys)).map((value) => value && { ...value, expiresAt: Number.MAX_SAFE_INTEGER });
      return { read, write: (...asked) => store.write(...asked), close: () => store.close() };
    },
  };
  await using world = await startStateWorld({ components: [late] });
  await world.save('late', 'a');
  const { status, headers } = await world.send('GET', '/v1.0/state/late/a');
  expect([status, headers['metadata.ttlexpiretime']]).toEqual([200, '9999-12-31T23:59:59Z']);
  const [entry] = (await world.send('POST', '/v1.0/state/late/bulk', { keys: ['a'] })).json as readonly object[];
  expect(entry).toMatchObject({ data: 'a', metadata: { ttlExpireTime: '9999-12-31T23:59:59Z' } });
});
