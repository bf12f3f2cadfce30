import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { memoryPubSub, Sidecar, type WireName } from '../../src/index.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { NEVER } from '../support/app.ts';
import { Chunks } from '../support/http.ts';
import { createWorld, startWorld } from '../support/world.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const LONG = 'n'.repeat(300);

/** A component that takes nothing. */
function broken(problem: unknown): PubSubDefinition {
  const inner = memoryPubSub('pubsub');
  return {
    ...inner,
    open: async (context) => {
      const component = await inner.open(context);
      return {
        publish: () => Promise.reject(problem),
        subscribe: (options) => component.subscribe(options),
        close: () => component.close(),
      };
    },
  };
}

describe('status codes of publish', () => {
  test.each<[method: string, path: string, status: number, errorCode: string]>([
    ['POST', '/v1.0/publish', 404, 'ERR_PUBSUB_EMPTY'],
    ['POST', '/v1.0/publish/', 404, 'ERR_PUBSUB_EMPTY'],
    ['POST', '/v1.0/publish/pubsub', 404, 'ERR_TOPIC_NAME_EMPTY'],
    ['POST', '/v1.0/publish/pubsub/', 404, 'ERR_TOPIC_NAME_EMPTY'],
    ['PUT', '/v1.0/publish/pubsub//', 404, 'ERR_TOPIC_NAME_EMPTY'],
    ['POST', '/v1.0/publish/unknown/orders', 404, 'ERR_PUBSUB_NOT_FOUND'],
    ['POST', '/v1.0/publish/PubSub/orders', 404, 'ERR_PUBSUB_NOT_FOUND'],
    ['POST', '/v1.0/publish/__proto__/orders', 404, 'ERR_PUBSUB_NOT_FOUND'],
    ['POST', '/v1.0/publish/constructor/orders', 404, 'ERR_PUBSUB_NOT_FOUND'],
    ['POST', '/v1.0/publish/pubsub/secret', 403, 'ERR_PUBSUB_FORBIDDEN'],
    ['POST', '/v1.0/publish/bulk', 404, 'ERR_PUBSUB_EMPTY'],
    ['POST', '/v1.0/publish/bulk/', 404, 'ERR_PUBSUB_EMPTY'],
    ['POST', '/v1.0/publish/bulk/pubsub', 404, 'ERR_TOPIC_NAME_EMPTY'],
    ['POST', '/v1.0/publish/bulk/pubsub/', 404, 'ERR_TOPIC_NAME_EMPTY'],
    ['POST', '/v1.0/publish/bulk/orders', 404, 'ERR_TOPIC_NAME_EMPTY'],
    ['POST', '/v1.0/publish/bulk/unknown/orders', 400, 'ERR_PUBSUB_NOT_FOUND'],
    ['POST', '/v1.0/publish/bulk/pubsub/secret', 403, 'ERR_PUBSUB_FORBIDDEN'],
  ])('%s %s answers %i %s', async (method, path, status, errorCode) => {
    await using world = await startWorld({ memory: { protectedTopics: ['secret'] } });
    expect((await world.send(method, path, { body: [] })).error).toEqual([status, errorCode]);
  });

  test('fixed segments of a path are decoded like all others, and ask for the API token like all others', async () => {
    await using world = await startWorld({ apiToken: 'token' });
    for (const [method, path, status] of [
      ['GET', '/v1.0/health%7A', 204],
      ['GET', '/v1%2E0/m%65tadata', 200],
      ['POST', '/v1.0/%70ublish/pubsub/orders', 204],
      ['POST', '/v1.0/publish/%62ulk/pubsub/orders', 204],
      ['POST', '/v1.0/inv%6Fke/shop/%6dethod/foo', 200],
    ] as const) {
      const sent = method === 'POST' ? { body: '[]' } : {};
      const isOpen = path.includes('health');
      expect((await world.send(method, path, sent)).status, path).toBe(isOpen ? 204 : 401);
      const headers = { 'sidecar-api-token': 'token' };
      expect((await world.send(method, path, { ...sent, headers })).status, path).toBe(status);
    }
    expect(world.deliveries.map(({ path }) => path)).toEqual(['/orders', '/foo']);
  });

  test('a pub/sub that is not for this application is not found', async () => {
    await using world = await startWorld({ memory: { scopes: ['other'] } });
    expect((await world.publish('x')).error).toEqual([404, 'ERR_PUBSUB_NOT_FOUND']);
  });

  test('500 ERR_PUBSUB_PUBLISH_MESSAGE when the component failed, with its message', async () => {
    await using world = await startWorld({ components: [broken(new Error('disk full'))] });
    const answer = await world.publish('x');
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_PUBLISH_MESSAGE']);
    expect(answer.json['message']).toBe('error when publishing to topic orders in pubsub pubsub: disk full');
  });

  test('500 when the component takes no more messages', async () => {
    await using world = await startWorld({ memory: { maxMessages: 1 }, answer: () => NEVER, stopTimeout: 1 });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: '1' });
    const answer = await world.send('POST', '/v1.0/publish/pubsub/orders', { body: '2' });
    expect(answer.error).toEqual([500, 'ERR_PUBSUB_PUBLISH_MESSAGE']);
    expect(answer.json['message']).toContain('the queue in memory is full');
  });

  test('checks come in order: names, permission, metadata, size, event, component', async () => {
    const limits = { bodyLimitBytes: 50, components: [broken(new Error('down'))] };
    const components = [{ ...limits.components[0], topics: { protectedTopics: ['secret'] } } as PubSubDefinition];
    await using world = await startWorld({ ...limits, components });
    const bad = '?metadata.rawPayload=x';
    const large = 'x'.repeat(51);
    const headers = { ce_id: '1' };
    const steps = [
      await world.send('POST', `/v1.0/publish/nobody/secret${bad}`, { headers, body: large }),
      await world.send('POST', `/v1.0/publish/pubsub/secret${bad}`, { headers, body: large }),
      await world.send('POST', `/v1.0/publish/pubsub/orders${bad}`, { headers, body: large }),
      await world.send('POST', '/v1.0/publish/pubsub/orders', { headers, body: large }),
      await world.send('POST', '/v1.0/publish/pubsub/orders', { headers, body: 'x' }),
      await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' }),
    ];
    expect(steps.map(({ error }) => error)).toEqual([
      [404, 'ERR_PUBSUB_NOT_FOUND'],
      [403, 'ERR_PUBSUB_FORBIDDEN'],
      [400, 'ERR_PUBSUB_REQUEST_METADATA'],
      [413, 'ERR_BODY_TOO_LARGE'],
      [500, 'ERR_PUBSUB_CLOUD_EVENTS_SER'],
      [500, 'ERR_PUBSUB_PUBLISH_MESSAGE'],
    ]);
  });

  test.each([
    ['a pub/sub may not be named bulk', ['bulk'], 'a pub/sub may not be named bulk'],
    ['two components may not have one name', ['twice', 'twice'], 'component name "twice" is used twice'],
  ])('%s: refused when the sidecar is made', (_, names, message) => {
    const components = names.map((name) => memoryPubSub(name));
    expect(() => new Sidecar({ appId: 'orders', components })).toThrow(
      expect.objectContaining({ code: 'ERR_CONFIGURATION', message: expect.stringContaining(message) }),
    );
  });
});

describe('bodies of errors', () => {
  const details: Record<WireName, { domain: string; prefix: string }> = {
    sidecar: { domain: 'insidecar', prefix: 'SIDECAR_' },
    dapr: { domain: 'dapr.io', prefix: 'DAPR_' },
  };
  const info = (wire: WireName, reason: string, metadata: object): object => ({
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    domain: details[wire].domain,
    metadata,
    reason: details[wire].prefix + reason,
  });
  const resource = (description: string): object => ({
    '@type': 'type.googleapis.com/google.rpc.ResourceInfo',
    description,
    owner: '',
    resource_name: 'pubsub',
    resource_type: 'pubsub',
  });

  test.each<WireName>(['sidecar', 'dapr'])('403 is exact with wire %s', async (wire) => {
    await using world = await startWorld({ wire, memory: { allowedTopics: ['orders'] } });
    const message = 'topic T is not allowed for app id shop';
    const answer = await world.publish('x', { topic: 'T' });
    expect(answer.status).toBe(403);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.json).toEqual({
      errorCode: 'ERR_PUBSUB_FORBIDDEN',
      message,
      details: [resource(message), info(wire, 'PUBSUB_FORBIDDEN', { error: message, topic: 'T' })],
    });
  });

  test.each<WireName>(['sidecar', 'dapr'])('404 is exact with wire %s', async (wire) => {
    await using world = await startWorld({ wire });
    const answer = await world.send('POST', '/v1.0/publish/nope/orders?metadata.a=b&other=1');
    expect(answer.json).toEqual({
      errorCode: 'ERR_PUBSUB_NOT_FOUND',
      message: 'pubsub nope is not found',
      details: [info(wire, 'PUBSUB_NOT_FOUND', { a: 'b' })],
    });
  });

  test.each<WireName>(['sidecar', 'dapr'])('400 of request metadata is exact with wire %s', async (wire) => {
    await using world = await startWorld({ wire });
    const answer = await world.publish('x', { query: 'metadata.rawPayload=no' });
    const message = "failed deserializing metadata. Error: rawPayload value must be a valid boolean: actual is 'no'";
    expect(answer.json).toEqual({
      errorCode: 'ERR_PUBSUB_REQUEST_METADATA',
      message,
      details: [resource(message), info(wire, 'PUBSUB_METADATA_DESERIALIZATION', { rawPayload: 'no' })],
    });
  });

  test.each(['ttlInSeconds=x', 'maxBulkPubBytes=0', 'rawPayload=no'])(
    '400 of a bulk publish with %s has a ResourceInfo',
    async (query) => {
      await using world = await startWorld();
      const answer = await world.publishBulk([], `metadata.${query}`);
      expect(answer.error).toEqual([400, 'ERR_PUBSUB_REQUEST_METADATA']);
      expect(answer.json['details']).toMatchObject([resource(String(answer.json['message'])), {}]);
    },
  );

  test.each<WireName>(['sidecar', 'dapr'])('500 of a component is exact with wire %s', async (wire) => {
    await using world = await startWorld({ wire, components: [broken(new Error('down'))] });
    const message = 'error when publishing to topic orders in pubsub pubsub: down';
    expect((await world.publish('x')).json).toEqual({
      errorCode: 'ERR_PUBSUB_PUBLISH_MESSAGE',
      message,
      details: [resource(message), info(wire, 'PUBSUB_PUBLISH_MESSAGE', { topic: 'orders', error: 'down' })],
    });
  });

  test('500 of a caller’s CloudEvent and 400 of bulk entries name reason and app', async () => {
    await using world = await startWorld({ wire: 'dapr' });
    const event = await world.publish('[]', { headers: { 'content-type': 'application/cloudevents+json' } });
    const bulk = await world.publishBulk('{}');
    const about = (reason: string): object => ({
      domain: 'dapr.io',
      reason,
      metadata: { appID: 'shop', error: expect.any(String) },
    });
    expect(event.json['details']).toMatchObject([
      { resource_name: 'pubsub' },
      about('DAPR_PUBSUB_CLOUD_EVENT_CREATION'),
    ]);
    expect(bulk.json['details']).toMatchObject([{ resource_name: 'pubsub' }, about('DAPR_PUBSUB_UNMARSHAL_EVENTS')]);
  });

  test('every other error is errorCode and message', async () => {
    await using world = await startWorld();
    const answer = await world.send('GET', '/nowhere');
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.json).toEqual({ errorCode: 'ERR_NOT_FOUND', message: 'no route for GET /nowhere' });
  });
});

describe('routes and methods', () => {
  test.each([
    '/',
    '/v1.0',
    '/v1.0/nothing',
    '/V1.0/metadata',
    '/v1.0/Metadata',
    '/v1.1/metadata',
    '/v1.0/metadata/a/b',
    '/__proto__',
  ])('no route for %s: 404 ERR_NOT_FOUND', async (path) => {
    await using world = await startWorld();
    expect((await world.send('GET', path)).error).toEqual([404, 'ERR_NOT_FOUND']);
  });

  test.each([
    ['GET', '/v1.0/publish/pubsub/orders', ['POST', 'PUT']],
    ['DELETE', '/v1.0/publish/pubsub/a/b', ['POST', 'PUT']],
    ['PATCH', '/v1.0/publish/bulk/pubsub/orders', ['POST', 'PUT']],
    ['GET', '/v1.0/publish', ['POST', 'PUT']],
    ['POST', '/v1.0/metadata/name', ['PUT']],
    ['GET', '/v1.0/metadata/name', ['PUT']],
    ['POST', '/v1.0/healthz', ['GET', 'HEAD']],
    ['DELETE', '/v1.0/healthz/outbound', ['GET', 'HEAD']],
  ])('%s %s: 405 with Allow', async (method, path, allowed) => {
    await using world = await startWorld();
    const answer = await world.send(method, path);
    expect(answer.error).toEqual([405, 'ERR_METHOD_NOT_ALLOWED']);
    expect(answer.headers['allow']?.split(', ').sort()).toEqual(allowed);
  });

  test('doubled and trailing slashes are tolerated', async () => {
    await using world = await startWorld();
    expect((await world.send('GET', '//v1.0///metadata//')).status).toBe(200);
    expect((await world.send('GET', '/v1.0/healthz//outbound/')).status).toBe(204);
    expect((await world.send('POST', '/v1.0//publish//pubsub//orders//', { body: 'x' })).status).toBe(204);
  });

  test.each(['%', '%zz', '%e2%82', '%ff', 'a%2', '%c0%af'])(
    'the path segment %s does not decode: 400 ERR_BAD_REQUEST',
    async (segment) => {
      await using world = await startWorld();
      for (const path of [
        `/v1.0/publish/pubsub/${segment}`,
        `/v1.0/publish/${segment}/t`,
        `/v1.0/publish/pubsub/a/${segment}/b`,
      ]) {
        expect((await world.send('POST', path)).error).toEqual([400, 'ERR_BAD_REQUEST']);
      }
      expect((await world.send('PUT', `/v1.0/metadata/${segment}`)).error).toEqual([400, 'ERR_BAD_REQUEST']);
    },
  );
});

describe('names in paths', () => {
  test.each<[path: string, topic: string]>([
    ['orders', 'orders'],
    ['t', 't'],
    [LONG, LONG],
    ['a/b/c', 'a/b/c'],
    ['a//b', 'a/b'],
    ['a/b//', 'a/b'],
    ['a%2Fb', 'a/b'],
    ['a%2F%2Fb', 'a//b'],
    ['%2F', '/'],
    ['a%2F', 'a/'],
    ['a+b', 'a+b'],
    ['a%2Bb', 'a+b'],
    ['a%20b', 'a b'],
    ['%25', '%'],
    ['a%252Fb', 'a%2Fb'],
    ['caf%C3%A9/%E2%98%83/%F0%9F%98%80', 'café/☃/😀'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['toString', 'toString'],
    ['bulk', 'bulk'],
    ['%00', '\0'],
    ['a%22%5C%0Ab', 'a"\\\nb'],
    ["!$&'()*,;=:@-._~", "!$&'()*,;=:@-._~"],
    ['%3Fa=b%23', '?a=b#'],
  ])('topic %s is %j', async (path, topic) => {
    await using world = await startWorld({ discovery: [{ pubsubname: 'pubsub', topic, route: '/r' }] });
    expect((await world.publish('x', { topic: path })).status).toBe(204);
    expect(
      (await world.send('POST', `/v1.0/publish/bulk/pubsub/${path}`, { body: [{ entryId: '1', event: 'y' }] })).status,
    ).toBe(204);
    await world.clock.settled();
    expect(world.deliveries.map(({ json }) => [json['topic'], json['data']])).toEqual([
      [topic, 'x'],
      [topic, 'y'],
    ]);
  });

  test('topics are case-sensitive', async () => {
    await using world = await startWorld();
    await world.publish('x', { topic: 'Orders' });
    expect(world.deliveries).toEqual([]);
  });

  test.each<[path: string, name: string]>([
    ['p', 'p'],
    [LONG, LONG],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['my+pub%20sub', 'my+pub sub'],
    ['caf%C3%A9', 'café'],
    ['a%2Fb', 'a/b'],
  ])('pub/sub %s is %j', async (path, name) => {
    await using world = await startWorld({
      components: [memoryPubSub(name)],
      discovery: [{ pubsubname: name, topic: 't', route: '/r' }],
    });
    expect((await world.send('POST', `/v1.0/publish/${path}/t`, { body: 'x' })).status).toBe(204);
    await world.clock.settled();
    expect(world.deliveries.map(({ json }) => json['pubsubname'])).toEqual([name]);
  });
});

describe('the API token', () => {
  const right = 'secret-token';

  test.each<[what: string, headers: Record<string, string>]>([
    ['missing', {}],
    ['empty', { 'sidecar-api-token': '' }],
    ['wrong, of the same length', { 'sidecar-api-token': 'secret-tokem' }],
    ['shorter', { 'sidecar-api-token': 'secret' }],
    ['longer', { 'sidecar-api-token': 'secret-token-and-more' }],
    ['in another case', { 'sidecar-api-token': 'SECRET-TOKEN' }],
    ['very long', { 'sidecar-api-token': 'x'.repeat(8_000) }],
    ['in the other wire’s header', { 'dapr-api-token': right }],
    ['in Authorization', { authorization: `Bearer ${right}` }],
  ])('%s: 401 ERR_UNAUTHORIZED and nothing happens', async (_, headers) => {
    await using world = await startWorld({ apiToken: right });
    const answers = [
      await world.publish('x', { headers }),
      await world.send('POST', '/v1.0/publish/bulk/pubsub/orders', { headers, body: [{ entryId: '1', event: 'x' }] }),
      await world.send('PUT', '/v1.0/metadata/a', { headers, body: 'x' }),
      await world.send('GET', '/v1.0/metadata', { headers }),
      await world.send('GET', '/v1.0/nothing', { headers }),
    ];
    await world.clock.settled();
    expect(answers.map(({ error }) => error)).toEqual(Array(5).fill([401, 'ERR_UNAUTHORIZED']));
    expect(answers.map(({ text }) => text.includes(right))).toEqual(Array(5).fill(false));
    expect(world.deliveries).toEqual([]);
    expect(world.sidecar.metadata.get().extended).not.toHaveProperty('a');
  });

  test.each<[wire: WireName, header: string]>([
    ['sidecar', 'sidecar-api-token'],
    ['dapr', 'dapr-api-token'],
  ])('with wire %s is expected in %s', async (wire, header) => {
    await using world = await startWorld({ wire, apiToken: right });
    expect((await world.publish('x', { headers: { [header]: right } })).status).toBe(204);
    expect((await world.publish('x')).status).toBe(401);
  });

  test.each<[wire: WireName, variable: string, header: string]>([
    ['sidecar', 'SIDECAR_API_TOKEN', 'sidecar-api-token'],
    ['dapr', 'DAPR_API_TOKEN', 'dapr-api-token'],
  ])('with wire %s comes from %s', async (wire, variable, header) => {
    vi.stubEnv(variable, 'from-env');
    await using world = await startWorld({ wire });
    expect((await world.publish('x')).status).toBe(401);
    expect((await world.publish('x', { headers: { [header]: 'from-env' } })).status).toBe(204);
  });

  test.each(['/v1.0/healthz', '/v1.0/healthz/outbound'])('%s needs none', async (path) => {
    await using world = await startWorld({ apiToken: right });
    expect((await world.send('GET', path)).status).toBe(204);
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('%s on a health route is not exempt', async (method) => {
    await using world = await startWorld({ apiToken: right });
    for (const path of ['/v1.0/healthz', '/v1.0/healthz/outbound'])
      expect((await world.send(method, path)).error).toEqual([401, 'ERR_UNAUTHORIZED']);
  });

  test('is asked for before anything is said about methods and paths', async () => {
    await using world = await startWorld({ apiToken: right });
    expect((await world.send('GET', '/v1.0/publish/pubsub/orders')).error).toEqual([401, 'ERR_UNAUTHORIZED']);
    expect((await world.send('POST', '/v1.0/publish/pubsub/%zz')).error).toEqual([401, 'ERR_UNAUTHORIZED']);
  });
});

describe('the body limit', () => {
  const PUBLISH = '/v1.0/publish/pubsub/orders';

  test.each([
    ['with its length', (bytes: Buffer): unknown => bytes],
    ['in chunks', (bytes: Buffer): unknown => new Chunks(bytes.subarray(0, 5), bytes.subarray(5))],
  ])('a body of exactly the limit is taken, one byte more is 413 ERR_BODY_TOO_LARGE: %s', async (_, form) => {
    await using world = await startWorld({ bodyLimitBytes: 100 });
    expect((await world.publish(form(Buffer.alloc(100, 0x20)))).status).toBe(204);
    const answer = await world.publish(form(Buffer.alloc(101, 0x20)));
    expect(answer.error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
    expect(answer.json['message']).toContain('100');
    expect(world.deliveries).toHaveLength(1);
  });

  test('it holds for bulk publishing', async () => {
    await using world = await startWorld({ bodyLimitBytes: 100 });
    const body = JSON.stringify([{ entryId: '1', event: 'x'.repeat(100) }]);
    expect((await world.publishBulk(body)).error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
  });

  test.each([
    ['with its length', (bytes: Buffer): unknown => bytes],
    ['in chunks', (bytes: Buffer): unknown => new Chunks(bytes)],
  ])('is 4 MiB by default: %s', async (_, form) => {
    await using world = await startWorld();
    const answer = await world.send('POST', PUBLISH, { body: form(Buffer.alloc(4 * 1024 * 1024 + 1)) });
    expect(answer.error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
  });
});

describe('a sidecar that is not running', () => {
  test('answers 500 ERR_HEALTH_NOT_READY before it is started', async () => {
    await using world = await createWorld();
    expect((await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' })).error).toEqual([
      500,
      'ERR_HEALTH_NOT_READY',
    ]);
  });

  test('answers 503 ERR_SHUTTING_DOWN with Retry-After while it stops and after', async () => {
    await using world = await startWorld({ answer: () => NEVER });
    await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'x' });
    const stopped = world.sidecar.stop();
    const during = [
      await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'y' }),
      await world.send('POST', '/v1.0/publish/bulk/pubsub/orders', { body: [] }),
      await world.send('GET', '/v1.0/metadata'),
    ];
    await world.clock.advance('11s');
    await stopped;
    const after = await world.send('POST', '/v1.0/publish/pubsub/orders', { body: 'z' });
    for (const answer of [...during, after]) {
      expect(answer.error).toEqual([503, 'ERR_SHUTTING_DOWN']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
  });
});

describe('a client that went away', () => {
  test.each(['destroy', 'resetAndDestroy'] as const)(
    'in the middle of its body: no fault of ours is logged (%s)',
    async (leave) => {
      await using world = await startWorld();
      for (let times = 0; times < 20; times++) {
        const begun = world.sidecar.answers.underWay;
        const socket = connect(world.server.port, '127.0.0.1').on('error', () => undefined);
        socket.write('POST /v1.0/publish/pubsub/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nbegun');
        await expect.poll(() => world.sidecar.answers.underWay).toBe(begun + 1);
        socket[leave]();
        await expect.poll(() => world.sidecar.answers.underWay).toBe(begun);
      }
      expect([...world.logger.at('warn'), ...world.logger.at('error')]).toEqual([]);
    },
  );

  test('nothing is sent, the work already accepted goes on', async () => {
    let reached = (): void => undefined;
    let proceed = (): void => undefined;
    const isReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const gate = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const inner = memoryPubSub('pubsub');
    const slow: PubSubDefinition = {
      ...inner,
      open: async (context) => {
        const component = await inner.open(context);
        const publish: typeof component.publish = async (messages) => {
          reached();
          await gate;
          return component.publish(messages);
        };
        return { publish, subscribe: (options) => component.subscribe(options), close: () => component.close() };
      },
    };
    await using world = await startWorld({ components: [slow] });
    const caller = request(`${world.server.url}/v1.0/publish/pubsub/orders`, { method: 'POST' });
    const gone = new Promise((resolve) => caller.once('error', resolve));
    caller.end('x');
    await isReached;
    caller.destroy();
    await gone;
    proceed();
    await world.received(1);
    expect(world.deliveries.map(({ data }) => data)).toEqual(['x']);
    expect([...world.logger.at('warn'), ...world.logger.at('error')]).toEqual([]);
  });
});
