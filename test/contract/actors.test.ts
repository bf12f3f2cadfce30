import { describe, expect, test } from 'vitest';
import { type ActorAnswer, actorsWorld } from '../support/actors-world.ts';
import { WAYS } from '../support/served.ts';
import { until as untilOrTell, WIRES } from '../support/stores-world.ts';

const until = (holds: () => boolean): Promise<void> => untilOrTell(holds, () => String(holds));

const names = (wire: string): { readonly chain: string; readonly config: string } => ({
  chain: `${wire}-reentrancy-id`,
  config: `/${wire}/config`,
});

/** An answer that the test gives when it likes. */
function held(): { readonly answer: Promise<ActorAnswer>; readonly give: (answer?: ActorAnswer) => void } {
  let give: (answer?: ActorAnswer) => void = () => undefined;
  const answer = new Promise<ActorAnswer>((resolve) => {
    give = (given = {}) => resolve(given);
  });
  return { answer, give };
}

describe.each(WIRES)('calls of actors, wire %s', (wire) => {
  test.each(WAYS)('reach the application as PUT, on a %s', async (via) => {
    await using world = await actorsWorld({ wire, via, answer: () => ({ body: 'done', headers: { 'x-own': '1' } }) });
    const answer = await world.call('Cart/alice/method/add?x=1%20', {
      body: '{"a":1.10}',
      headers: { 'content-type': 'text/x', 'x-mine': 'yes', [`${wire}-caller-app-id`]: 'forged', connection: 'close' },
    });
    expect([answer.status, answer.text, answer.headers['x-own']]).toEqual([200, 'done', '1']);
    const [request] = world.app.requests;
    expect(request).toMatchObject({ method: 'PUT', path: '/actors/Cart/alice/method/add?x=1%20', body: '{"a":1.10}' });
    expect(request?.headers).toMatchObject({
      'content-type': 'text/x',
      'x-mine': 'yes',
      [`${wire}-caller-app-id`]: 'shop',
    });
    expect(request?.headers['dapr-api-call']).toBe(wire === 'dapr' ? 'true' : undefined);
    expect(world.app.questions.map(({ path }) => path)).toEqual([names(wire).config]);
  });

  test.each(['POST', 'PUT', 'GET', 'DELETE'])('%s calls a method', async (method) => {
    await using world = await actorsWorld({ wire });
    expect((await world.call('Cart/a/method/m', {}, method)).status).toBe(200);
    expect(world.app.of('PUT')).toHaveLength(1);
  });

  test('other methods and paths are no calls', async () => {
    await using world = await actorsWorld({ wire });
    expect((await world.call('Cart/a/method/m', {}, 'PATCH')).status).toBe(405);
    expect((await world.call('Cart/a/method/m', {}, 'HEAD')).status).toBe(405);
    expect((await world.call('Cart/a/method/m/n')).status).toBe(404);
    expect(world.app.requests).toEqual([]);
  });

  test.each([200, 201, 202, 204])('%i of the application is passed on', async (status) => {
    await using world = await actorsWorld({ wire, answer: () => ({ status }) });
    expect((await world.call('Cart/a/method/m')).status).toBe(status);
  });

  test.each([
    [404, 'was not found'],
    [500, '500 why'],
    [302, '302 why'],
  ])('%i of the application is an error that says so', async (status, text) => {
    await using world = await actorsWorld({ wire, answer: () => ({ status, body: 'why' }) });
    const answer = await world.call('Cart/a/method/m');
    expect(answer.error).toEqual([500, 'ERR_ACTOR_INVOKE_METHOD']);
    expect(String(answer.json['message'])).toContain(text);
    expect(world.app.requests).toHaveLength(1);
  });

  test.each(['%41%2541', 'a%7C%7Cb', '100%25', '__proto__', 'a+b', '%E2%82%AC%20x', "it's(1)*!"])(
    'an ID arrives as it was sent: %s',
    async (id) => {
      await using world = await actorsWorld({ wire });
      expect((await world.call(`Cart/${id}/method/m`)).status).toBe(200);
      const path = world.app.requests[0]?.path.split('/')[3] ?? '';
      expect(decodeURIComponent(path)).toBe(decodeURIComponent(id));
    },
  );

  test.each([
    'Cart/a%2Fb/method/m',
    'Cart/%2E%2E/method/m',
    'Cart/a%5Cb/method/m',
    'Cart/a%23/method/m',
    'Cart/a%3F/method/m',
    'Cart/a%00/method/m',
    `Cart/${'x'.repeat(513)}/method/m`,
    `${'x'.repeat(257)}/a/method/m`,
    'Cart/a/method/remind%2Fx',
    'Cart/a/method/Remind%2Fx',
    'Cart/a/method/timer%2Fx',
    'Cart/a/method/a%2F..%2Fremind%2Fx',
    'Cart/a/method/%2Fremind%2Fx',
    'Cart/a/method/a%23b',
  ])('a name that cannot be is refused: %s', async (path) => {
    await using world = await actorsWorld({ wire });
    expect((await world.call(path)).error).toEqual([400, 'ERR_BAD_REQUEST']);
    expect(world.app.requests).toEqual([]);
  });

  test('an encoded slash makes a nested path of the method', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/method/a%2Fb%25');
    expect(world.app.requests[0]?.path).toBe('/actors/Cart/a/method/a/b%25');
  });

  test('types of the workflow engine are not for applications', async () => {
    await using world = await actorsWorld({ wire });
    const type = `${wire === 'dapr' ? 'dapr' : 'sidecar'}.internal.default.shop.workflow`;
    expect((await world.call(`${type}/a/method/m`)).error).toEqual([403, 'ERR_ACTOR_TYPE_RESERVED']);
    expect((await world.call(`${type}/a/state`, { body: [] })).error).toEqual([403, 'ERR_ACTOR_TYPE_RESERVED']);
  });

  test('a type that nobody hosts has no address, after five seconds', async () => {
    await using world = await actorsWorld({ wire });
    const answer = world.call('Nobody/a/method/m');
    await world.clock.advance(6_000);
    const expected = wire === 'dapr' ? [500, 'ERR_ACTOR_INVOKE_METHOD'] : [404, 'ERR_ACTOR_NO_ADDRESS'];
    expect((await answer).error).toEqual(expected);
  });

  test('a body over the limit is refused', async () => {
    await using world = await actorsWorld({ wire, bodyLimitBytes: 1_000 });
    expect((await world.call('Cart/a/method/m', { body: 'x'.repeat(1_001) })).error).toEqual([
      413,
      'ERR_BODY_TOO_LARGE',
    ]);
  });

  test('the lists of the API take all of their routes away', async () => {
    await using world = await actorsWorld({ wire, api: { denied: [{ name: 'actors' }] } });
    for (const path of ['method/m', 'state', 'reminders/r', 'timers/t'])
      expect((await world.call(`Cart/a/${path}`, { body: '[]' })).status).toBe(404);
    expect(world.app.requests).toEqual([]);
    await using only = await actorsWorld({ wire, api: { allowed: [{ name: 'actors' }] } });
    expect((await only.call('Cart/a/method/m')).status).toBe(200);
    expect((await only.call('Cart/a/state', { body: '[]' })).status).toBe(204);
  });

  test('metadata and the placement table have the types', async () => {
    await using world = await actorsWorld({
      wire,
      configuration: { entities: ['Cart', 'Box'] },
      dapr: { placement: { enabled: true } },
    });
    await world.call('Cart/a/method/m');
    const { json } = await world.send('GET', '/v1.0/metadata');
    expect(json['actors']).toEqual([
      { type: 'Box', count: 0 },
      { type: 'Cart', count: 1 },
    ]);
    const table = JSON.parse((await world.send('GET', '/placement/state')).text) as {
      hostList: { actorTypes: string[] }[];
    };
    expect(table.hostList.map(({ actorTypes }) => actorTypes)).toEqual([['Box', 'Cart']]);
  });
});

describe.each(WIRES)('turns, wire %s', (wire) => {
  test('calls of one actor run one after the other, in their order; other actors meanwhile', async () => {
    const first = held();
    await using world = await actorsWorld({ wire, answer: (_request, nth) => (nth === 1 ? first.answer : {}) });
    const one = world.call('Cart/a/method/1');
    await until(() => world.app.requests.length === 1);
    const two = world.call('Cart/a/method/2');
    expect((await world.call('Cart/b/method/m')).status).toBe(200);
    const three = world.call('Cart/a/method/3');
    await until(() => world.sidecar.actors.active().some(({ waiting }) => waiting === 2));
    expect(world.app.requests).toHaveLength(2);
    first.give();
    await Promise.all([one, two, three]);
    const order = world.app
      .of('PUT')
      .filter(({ path }) => path.includes('/a/'))
      .map(({ path }) => path.at(-1));
    expect(order).toEqual(['1', '2', '3']);
  });

  test('a turn does not end with its caller; a call that waits is not made when its caller has gone', async () => {
    const first = held();
    await using world = await actorsWorld({ wire, answer: (_request, nth) => (nth === 1 ? first.answer : {}) });
    const [gone, gaveUp] = [new AbortController(), new AbortController()];
    const { actors } = world.sidecar;
    const one = actors.call('Cart', 'a', { method: '1', signal: gone.signal }).catch(() => 'left');
    await until(() => world.app.requests.length === 1);
    const two = actors.call('Cart', 'a', { method: '2', signal: gaveUp.signal }).catch(() => 'left');
    const three = actors.call('Cart', 'a', { method: '3' });
    gone.abort(new Error('gone'));
    gaveUp.abort(new Error('gone'));
    expect(await two).toBe('left');
    expect(world.app.requests).toHaveLength(1);
    first.give();
    await Promise.all([one, three]);
    expect(world.app.of('PUT').map(({ path }) => path.at(-1))).toEqual(['1', '3']);
  });

  test('without reentrancy there is no chain, and one does not help', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/method/m', { headers: { [names(wire).chain]: 'mine' } });
    expect(world.app.requests[0]?.headers[names(wire).chain]).toBeUndefined();
  });

  test('with reentrancy a chain comes back, to its depth, and the actor goes on after an error', async () => {
    const configuration = { entities: ['Cart'], reentrancy: { enabled: true, maxStackDepth: 2 } };
    await using world = await actorsWorld({ wire, configuration });
    const { chain } = names(wire);
    const errors: unknown[] = [];
    world.app.answer = async ({ path, headers }) => {
      if (path.endsWith('end')) return {};
      const id = String(headers[chain]);
      const next = path.endsWith('outer') ? 'inner' : 'end';
      const answer = await world.call(`Cart/a/method/${next}`, { headers: { [chain]: id } });
      if (answer.status !== 200) errors.push(answer.error);
      return {};
    };
    expect((await world.call('Cart/a/method/outer')).status).toBe(200);
    expect(errors).toEqual([[500, 'ERR_ACTOR_STACK_DEPTH']]);
    const chains = new Set(world.app.of('PUT').map(({ headers }) => headers[chain]));
    expect(chains.size).toBe(1);
    expect((await world.call('Cart/a/method/end')).status).toBe(200);
  });

  test('an idle actor is deactivated, once, and not during a turn', async () => {
    const slow = held();
    await using world = await actorsWorld({ wire, configuration: { entities: ['Cart'], actorIdleTimeout: '1m' } });
    world.app.answer = ({ path }) => (path.endsWith('slow') ? slow.answer : {});
    await world.call('Cart/a/method/m');
    const long = world.call('Cart/b/method/slow');
    await until(() => world.app.requests.length === 2);
    await world.clock.advance(61_000);
    await until(() => world.app.of('DELETE').length === 1);
    expect(world.app.of('DELETE').map(({ path }) => path)).toEqual(['/actors/Cart/a']);
    await world.clock.advance(600_000);
    slow.give();
    await long;
    expect(world.app.of('DELETE')).toHaveLength(1);
    await world.clock.advance(61_000);
    await until(() => world.app.of('DELETE').length === 2);
  });

  test('a stop lets the turn end, which may still write, and then deactivates', async () => {
    const slow = held();
    const world = await actorsWorld({ wire, answer: ({ method }) => (method === 'PUT' ? slow.answer : {}) });
    const call = world.call('Cart/a/method/m');
    await until(() => world.app.requests.length === 1);
    const stopped = world[Symbol.asyncDispose]();
    await until(() => world.sidecar.isStopping);
    const write = [{ operation: 'upsert', request: { key: 'k', value: 1 } }];
    expect((await world.call('Cart/a/state', { body: write })).status).toBe(204);
    expect(world.app.of('DELETE')).toEqual([]);
    slow.give();
    expect((await call).status).toBe(200);
    await stopped;
    expect(world.app.of('DELETE').map(({ path }) => path)).toEqual(['/actors/Cart/a']);
  });
});

describe.each(WIRES)('state of actors, wire %s', (wire) => {
  const upsert = (key: string, value: unknown, more = {}): object => ({
    operation: 'upsert',
    request: { key, value, ...more },
  });

  test('is written as a whole, and read as it was sent', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/method/m');
    const body =
      '[{"operation":"upsert","request":{"key":"n","value":12345678901234567890.10}},' +
      '{"operation":"upsert","request":{"key":"gone","value":1}},{"operation":"delete","request":{"key":"gone"}},' +
      '{"operation":"upsert","request":{"key":"__proto__"}}]';
    expect((await world.call('Cart/a/state', { body })).status).toBe(204);
    const n = await world.call('Cart/a/state/n', {}, 'GET');
    expect([n.status, n.text, n.headers['content-type']]).toEqual([200, '12345678901234567890.10', 'application/json']);
    expect((await world.call('Cart/a/state/gone', {}, 'GET')).status).toBe(204);
    expect((await world.call('Cart/a/state/__proto__', {}, 'GET')).text).toBe('null');
    expect((await world.call('Cart/b/state/n', {}, 'GET')).status).toBe(204);
    expect((await world.call('Cart/a/state', { body: [] })).status).toBe(204);
  });

  test('an actor that is not active is refused, and reads all the same', async () => {
    await using world = await actorsWorld({ wire });
    const answer = await world.call('Cart/a/state', { body: [upsert('k', 1)] });
    expect(answer.error).toEqual([400, 'ERR_ACTOR_INSTANCE_MISSING']);
    expect((await world.call('Cart/a/state/k', {}, 'GET')).status).toBe(204);
  });

  test.each([
    ['no JSON', '[{'],
    ['no array', '{}'],
    ['no object', '[1]'],
    ['another operation', '[{"operation":"Upsert","request":{"key":"k"}}]'],
    ['no request', '[{"operation":"upsert"}]'],
    ['no key', '[{"operation":"upsert","request":{"value":1}}]'],
    ['an empty key', '[{"operation":"delete","request":{"key":""}}]'],
    ['a ttl of 0', '[{"operation":"upsert","request":{"key":"k","metadata":{"ttlInSeconds":"0"}}}]'],
    ['a negative ttl', '[{"operation":"upsert","request":{"key":"k","metadata":{"ttlInSeconds":"-1"}}}]'],
    ['a ttl that is none', '[{"operation":"upsert","request":{"key":"k","metadata":{"ttlInSeconds":"x"}}}]'],
  ])('%s is malformed, and nothing is written', async (_what, operation) => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/method/m');
    const body = operation.startsWith('[{"')
      ? `[{"operation":"upsert","request":{"key":"first"}},${operation.slice(1)}`
      : operation;
    expect((await world.call('Cart/a/state', { body })).error).toEqual([400, 'ERR_MALFORMED_REQUEST']);
    expect((await world.call('Cart/a/state/first', {}, 'GET')).status).toBe(204);
  });

  test('a key ends with its ttl, and an upsert without one takes the end away', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/method/m');
    const ttl = { metadata: { ttlInSeconds: '10' } };
    await world.call('Cart/a/state', { body: [upsert('a', 1, ttl), upsert('b', 1, ttl)] });
    const answer = await world.call('Cart/a/state/a', {}, 'GET');
    expect(Date.parse(String(answer.headers['metadata.ttlexpiretime']))).toBeGreaterThan(world.clock.now() + 8_000);
    await world.call('Cart/a/state', { body: [upsert('b', 2)] });
    await world.clock.advance(10_000);
    expect((await world.call('Cart/a/state/a', {}, 'GET')).status).toBe(204);
    const kept = await world.call('Cart/a/state/b', {}, 'GET');
    expect([kept.text, kept.headers['metadata.ttlexpiretime']]).toEqual(['2', undefined]);
    await world.clock.advance(120_000);
    expect(await world.sidecar.actors.state('Cart', 'a')).toEqual(new Map([['b', 2]]));
  });

  test('an etag that does not match refuses the whole transaction', async () => {
    await using world = await actorsWorld({ wire });
    await world.call('Cart/a/method/m');
    await world.call('Cart/a/state', { body: [upsert('k', 1)] });
    const { etag = '' } = (await world.call('Cart/a/state/k', {}, 'GET')).headers;
    const refused = await world.call('Cart/a/state', { body: [upsert('other', 1), upsert('k', 2, { etag: '9999' })] });
    expect(refused.error).toEqual([500, 'ERR_ACTOR_STATE_TRANSACTION_SAVE']);
    expect((await world.call('Cart/a/state/other', {}, 'GET')).status).toBe(204);
    expect((await world.call('Cart/a/state', { body: [upsert('k', 2, { etag })] })).status).toBe(204);
    expect((await world.call('Cart/a/state/k', {}, 'GET')).text).toBe('2');
  });

  test('outlives the deactivation', async () => {
    await using world = await actorsWorld({ wire, configuration: { entities: ['Cart'], actorIdleTimeout: '1s' } });
    await world.call('Cart/a/method/m');
    await world.call('Cart/a/state', { body: [upsert('k', 1)] });
    await world.clock.advance(2_000);
    await until(() => world.app.of('DELETE').length === 1);
    expect((await world.call('Cart/a/state/k', {}, 'GET')).text).toBe('1');
  });
});

describe('the configuration of the application', () => {
  test('is asked again when the answer cannot be read', async () => {
    await using world = await actorsWorld({ configuration: 'no json' });
    world.app.configuration = { body: { entities: ['Cart'] } };
    await world.clock.advance(1_000);
    expect((await world.call('Cart/a/method/m')).status).toBe(200);
  });

  test.each(WIRES)(
    '%s: until it can be read, the health shows that, and the sidecar is ready for all else',
    async (wire) => {
      await using world = await actorsWorld({ wire, configuration: 'no json' });
      const { health } = world.sidecar;
      const path = wire === 'dapr' ? '/dapr/config' : '/sidecar/config';
      const reason = expect.stringContaining(`the application could not be asked for its actors at ${path}: `);
      expect(health.state().checks).toContainEqual({ name: 'actors', isReady: false, reason });
      expect(health.state().isReady).toBe(true);
      expect((await world.send('GET', '/v1.0/healthz')).status).toBe(204);
      world.app.configuration = { body: { entities: ['Cart'] } };
      await world.clock.advance(1_000);
      await world.call('Cart/a/method/m');
      expect(health.state().checks).toContainEqual({ name: 'actors', isReady: true });
    },
  );

  test('without actors the health shows none', async () => {
    await using world = await actorsWorld({ configuration: {} });
    expect(world.sidecar.health.state().checks.map(({ name }) => name)).not.toContain('actors');
  });

  test.each(WIRES)('%s: names that no type can have are left out', async (wire) => {
    const entities = ['Cart', 'a/b', '..', `${wire}.internal.shop.x`, 'x'.repeat(257), '', 7];
    await using world = await actorsWorld({ wire, configuration: { entities } });
    const { json } = await world.send('GET', '/v1.0/metadata');
    expect(json['actors']).toEqual([{ type: 'Cart', count: 0 }]);
  });

  test('is not asked for without discovery', async () => {
    const world = await actorsWorld({ app: { listener: () => undefined, discovery: false } });
    await using _ = world;
    expect(world.app.questions).toEqual([]);
  });
});
