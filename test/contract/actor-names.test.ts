/** Names, bodies and values at the edges of what the contract allows, for every route of actors. */
import { describe, expect, test } from 'vitest';
import type { ResiliencySpec } from '../../src/index.ts';
import { actorsWorld } from '../support/actors-world.ts';
import { WIRES } from '../support/stores-world.ts';

const ROUTES = [
  ['POST', 'method/m'],
  ['POST', 'state'],
  ['GET', 'state/k'],
  ['PUT', 'reminders/r'],
  ['GET', 'reminders/r'],
  ['DELETE', 'reminders/r'],
  ['PUT', 'timers/t'],
  ['DELETE', 'timers/t'],
] as const;
const REFUSED = ['a%2Fb', 'a%5Cb', 'a%23', 'a%3Fb', '.', '..', '%2E%2E', 'a%00', 'a%1F', 'a%7F', 'a%C2%85', '%FF', '%'];
const upsert = (key: string, value: unknown, more = {}): object => ({
  operation: 'upsert',
  request: { key, value, ...more },
});

describe.each(WIRES)('wire %s', (wire) => {
  test.each(ROUTES)('%s …/%s refuses types and IDs that no path can carry', async (method, path) => {
    await using world = await actorsWorld({ wire });
    const body = path === 'state' ? '[]' : '{}';
    const sent = method === 'GET' || method === 'DELETE' ? {} : { body };
    for (const actor of [
      ...REFUSED.flatMap((name) => [`Cart/${name}`, `${name}/a`]),
      `Cart/${'x'.repeat(513)}`,
      `Cart/${'%C3%A9'.repeat(257)}`,
      `${'x'.repeat(257)}/a`,
    ])
      expect([actor, ...(await world.call(`${actor}/${path}`, sent, method)).error]).toEqual([
        ...[actor, 400, 'ERR_BAD_REQUEST'],
      ]);
    expect(world.app.requests).toEqual([]);
    expect(world.sidecar.actors.active()).toEqual([]);
  });

  test.each(['reminders', 'timers'])('names of %s', async (kind) => {
    await using world = await actorsWorld({ wire });
    const body = '{"dueTime":"30m"}';
    for (const name of [...REFUSED, 'x'.repeat(257)])
      expect((await world.call(`Cart/a/${kind}/${name}`, { body })).error).toEqual([400, 'ERR_BAD_REQUEST']);
    for (const name of ['100%25', '%2541', '__proto__', 'a%7C%7Cb', '%20', '%E2%82%AC', 'a+b', 'x'.repeat(256)])
      expect([name, (await world.call(`Cart/a/${kind}/${name}`, { body })).status]).toEqual([name, 204]);
    await world.pass('1h');
    const names = world.app.of('PUT').map(({ path }) => decodeURIComponent(path.split('/').at(-1) ?? ''));
    expect(names.toSorted()).toEqual(['100%', '%41', '__proto__', 'a||b', ' ', '€', 'a+b', 'x'.repeat(256)].toSorted());
  });

  test('methods: those with a slash are paths, and none is too long', async () => {
    await using world = await actorsWorld({ wire });
    for (const method of ['a%2F..', '..%2Fa', '.', 'a%23b', 'a%3Fb', 'a%0A', 'a%C2%80', 'remind%2Fr', 'timer%2Ft'])
      expect([method, ...(await world.call(`Cart/a/method/${method}`)).error]).toEqual([
        ...[method, 400, 'ERR_BAD_REQUEST'],
      ]);
    expect(world.app.requests).toEqual([]);
    const called = ['remind', 'timer', 'a%2Fb%20c', '100%25', 'constructor', '%E2%82%AC', 'x'.repeat(1_000)];
    for (const method of called) expect((await world.call(`Cart/a/method/${method}`)).status).toBe(200);
    const paths = world.app.requests.map(({ path }) => path.split('/method/')[1]);
    expect(paths).toEqual(called.map((method) => method.replace('%2F', '/')));
  });

  test('an empty name is none', async () => {
    await using world = await actorsWorld({ wire });
    for (const path of ['Cart//method/m', '/a/method/m', 'Cart/a/method/', 'Cart/a/reminders/', 'Cart/a/timers/']) {
      const { status } = await world.call(path, { body: '{}' });
      expect([path, status >= 400 && status < 500]).toEqual([path, true]);
    }
    expect(world.app.requests).toEqual([]);
  });

  test.each([
    ['Cart/a/method/m', 'POST, PUT, GET, DELETE'],
    ['Cart/a/state', 'POST, PUT'],
    ['Cart/a/state/k', 'GET, HEAD'],
    ['Cart/a/reminders/r', 'POST, PUT, GET, DELETE, HEAD'],
    ['Cart/a/timers/t', 'POST, PUT, DELETE'],
  ])('other methods on %s: 405, and those that are allowed are named', async (path, allow) => {
    await using world = await actorsWorld({ wire });
    for (const method of ['PATCH', 'OPTIONS', ...(allow.includes('HEAD') ? [] : ['HEAD'])]) {
      const answer = await world.call(path, {}, method);
      expect([method, answer.status, answer.headers['allow']]).toEqual([method, 405, allow]);
    }
    expect(world.app.requests).toEqual([]);
  });

  test('keys of the state may be any text of up to 512 bytes, and 900 with type and ID', async () => {
    await using world = await actorsWorld({ wire });
    const keys = ['a/b', '..', '.', 'a||b', ' ', '\u0000', '#?', '__proto__', 'ü', '100%', '\u2028', 'x'.repeat(512)];
    await world.call('Cart/a/method/m');
    const body = keys.map((key, index) => upsert(key, index));
    expect((await world.call('Cart/a/state', { body }, 'PUT')).status).toBe(204);
    for (const [index, key] of keys.entries()) {
      const encoded = encodeURIComponent(key).replace(/^\.+$/, (dots) => dots.replaceAll('.', '%2E'));
      expect([key, (await world.call(`Cart/a/state/${encoded}`, {}, 'GET')).text]).toEqual([key, String(index)]);
    }
    const id = 'i'.repeat(512);
    await world.call(`Cart/${id}/method/m`);
    const long = [upsert('k'.repeat(900 - 512 - 4), 1)];
    expect((await world.call(`Cart/${id}/state`, { body: long })).status).toBe(204);
    for (const [actor, key] of [
      ['a', 'x'.repeat(513)],
      ['a', 'é'.repeat(257)],
      [id, 'k'.repeat(900 - 512 - 3)],
    ] as const) {
      const mixed = [upsert('first', 1), upsert(key, 1)];
      expect((await world.call(`Cart/${actor}/state`, { body: mixed })).error).toEqual([400, 'ERR_BAD_REQUEST']);
      expect((await world.call(`Cart/${actor}/state/first`, {}, 'GET')).status).toBe(204);
    }
  });

  test('the same ID of two types, and the same key of two actors, are different ones', async () => {
    await using world = await actorsWorld({ wire, configuration: { entities: ['A', 'A||a'] } });
    const actors = ['A/a%7C%7Cb', 'A%7C%7Ca/b'];
    for (const actor of actors) {
      await world.call(`${actor}/method/m`);
      await world.call(`${actor}/state`, { body: [upsert('k', actor)] });
      await world.call(`${actor}/reminders/r`, { body: { dueTime: '1h', data: actor } });
    }
    for (const actor of actors) {
      expect((await world.call(`${actor}/state/k`, {}, 'GET')).json).toBe(actor);
      expect((await world.call(`${actor}/reminders/r`, {}, 'GET')).json['data']).toBe(actor);
    }
  });

  test('the type of the content does not matter, and its encoding is undone', async () => {
    const { gzipSync } = await import('node:zlib');
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/method/m');
    const text = JSON.stringify([upsert('k', 'packed')]);
    for (const type of ['text/plain', 'application/xml', ''])
      expect((await world.call('Cart/a/state', { body: text, headers: { 'content-type': type } })).status).toBe(204);
    const packed = { body: gzipSync(text), headers: { 'content-encoding': 'gzip' } };
    expect((await world.call('Cart/a/state', packed)).status).toBe(204);
    const plain = { body: '{"dueTime":"1h"}', headers: { 'content-type': 'text/plain' } };
    expect((await world.call('Cart/a/reminders/r', plain)).status).toBe(204);
    const odd = { body: text, headers: { 'content-encoding': 'compress' } };
    expect((await world.call('Cart/a/state', odd)).status).toBe(415);
  });

  test.each([
    ...['', 'null', '1', '"x"', '[', '[1]', '[null]', '[[]]', '{"operation":"upsert"}', '\ufeff[]', '[NaN]', "['a']"],
    '[{"operation":"upsert","request":{"key":5}}]',
    '[{"operation":"upsert","request":{"key":null}}]',
    '[{"operation":"upsert","request":[]}]',
    '[{"operation":"upsert","request":{"key":"k","metadata":"x"}}]',
    '[{"operation":"upsert","request":{"key":"k","etag":5}}]',
    '[{"operation":5,"request":{"key":"k"}}]',
    '[{"operation":"get","request":{"key":"k"}}]',
    ...['""', '" 1"', '"+1"', '"1.5"', '"1e3"', '"1s"', '10', 'true', '"9223372036854775808"'].map(
      (ttl) => `[{"operation":"upsert","request":{"key":"k","metadata":{"ttlInSeconds":${ttl}}}}]`,
    ),
  ])('a transaction that is %j is malformed', async (body) => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/method/m');
    expect((await world.call('Cart/a/state', { body })).error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
    expect(await world.sidecar.actors.state('Cart', 'a')).toEqual(new Map());
  });

  test('keys of a transaction are matched without regard to case on the names of Dapr only', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/method/m');
    const body = '[{"Operation":"upsert","REQUEST":{"Key":"k","VALUE":1,"Metadata":{"TTLinseconds":"10"}},"more":1}]';
    const answer = await world.call('Cart/a/state', { body });
    if (wire === 'sidecar') return expect(answer.error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
    const found = await world.call('Cart/a/state/k', {}, 'GET');
    expect([answer.status, found.text]).toEqual([204, '1']);
    expect(found.headers['metadata.ttlexpiretime']).toMatch(/^2026-01-01T00:00:1\dZ$/);
  });

  test('operations of a transaction are done in their order', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/method/m');
    const remove = { operation: 'delete', request: { key: 'k' } };
    await world.call('Cart/a/state', {
      body: [upsert('k', 1), remove, upsert('k', 2), upsert('l', 1), upsert('l', 2)],
    });
    expect((await world.call('Cart/a/state/k', {}, 'GET')).text).toBe('2');
    expect((await world.call('Cart/a/state/l', {}, 'GET')).text).toBe('2');
    await world.call('Cart/a/state', { body: [upsert('k', 3), remove] });
    expect((await world.call('Cart/a/state/k', {}, 'GET')).status).toBe(204);
  });

  test('a value up to the body limit is kept; a body over it is refused on every route', async () => {
    await using world = await actorsWorld({ wire, bodyLimitBytes: 100_000 });
    await world.call('Cart/a/method/m');
    const body = [upsert('big', 'x'.repeat(99_000))];
    expect((await world.call('Cart/a/state', { body })).status).toBe(204);
    expect((await world.call('Cart/a/state/big', {}, 'GET')).bytes).toHaveLength(99_002);
    const tooLong = { body: JSON.stringify({ data: 'x'.repeat(100_000) }) };
    for (const path of ['method/m', 'state', 'reminders/r', 'timers/t'])
      expect([path, ...(await world.call(`Cart/a/${path}`, tooLong)).error]).toEqual([
        ...[path, 413, 'ERR_BODY_TOO_LARGE'],
      ]);
  });

  test('an answer of the application over the body limit is not passed on, and not asked for again', async () => {
    const resiliency: ResiliencySpec = {
      policies: { retries: { twice: { policy: 'constant', duration: '10ms', maxRetries: 2 } } },
      targets: { actors: { Cart: { retry: 'twice' } } },
    };
    const answer = (): object => ({ body: 'x'.repeat(1_001) });
    await using world = await actorsWorld({ wire, bodyLimitBytes: 1_000, answer, resiliency });
    expect((await world.call('Cart/a/method/m')).error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
    expect(world.app.requests).toHaveLength(1);
    world.app.answer = () => ({ body: 'x'.repeat(1_000) });
    expect((await world.call('Cart/a/method/m')).bytes).toHaveLength(1_000);
  });
});

test('types of the workflow engine are reserved on all routes', async () => {
  await using world = await actorsWorld();
  for (const [method, path] of ROUTES) {
    const sent = method === 'GET' || method === 'DELETE' ? {} : { body: path === 'state' ? '[]' : '{}' };
    const answer = await world.call(`sidecar.internal.default.shop.workflow/a/${path}`, sent, method);
    expect([path, ...answer.error]).toEqual([path, 403, 'ERR_ACTOR_TYPE_RESERVED']);
  }
});
