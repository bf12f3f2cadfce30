import type { RequestListener } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { request } from '../../src/http/message.ts';
import { type InvocationInit, type InvocationReply, memoryState, nodeHandler, sharedState } from '../../src/index.ts';
import { bytesOf } from '../../src/kit/adapter-case.ts';
import { freePort, type Listening, listen } from '../support/http.ts';
import { type InvocationWorld, type InvocationWorldOptions, startInvocation } from '../support/invocation-world.ts';
import type { TestSidecarOptions } from '../support/sidecar.ts';

const KEYS = { identity: { keys: [{ secret: 'a shared secret of more than 32 bytes' }] } };
const OTHER_KEYS = { identity: { keys: [{ secret: 'another secret of more than 32 bytes' }] } };
const CALLER = { appId: 'shop', namespace: 'default', trustDomain: 'public' };
const POLICY: TestSidecarOptions = {
  accessControl: {
    defaultAction: 'deny',
    policies: [
      {
        ...CALLER,
        defaultAction: 'deny',
        operations: [
          { name: '/open/**', httpVerb: ['*'], action: 'allow' },
          { name: '/read', httpVerb: ['GET'], action: 'allow' },
        ],
      },
    ],
  },
};

/** Two sidecars over real sockets: `shop` calls `billing`. */
class Pair implements AsyncDisposable {
  readonly shop: InvocationWorld;
  readonly billing: InvocationWorld;
  readonly peers: Listening;

  constructor(shop: InvocationWorld, billing: InvocationWorld, peers: Listening) {
    this.shop = shop;
    this.billing = billing;
    this.peers = peers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shop[Symbol.asyncDispose]();
    await this.billing[Symbol.asyncDispose]();
    await this.peers[Symbol.asyncDispose]();
  }
}

interface PairOptions {
  readonly shop?: InvocationWorldOptions;
  readonly billing?: InvocationWorldOptions;
  /** Which of the callee's surfaces the caller knows. Default: the one for peers. */
  readonly at?: 'peers' | 'api';
}

async function pair({ shop = {}, billing = {}, at = 'peers' }: PairOptions = {}): Promise<Pair> {
  const callee = await startInvocation({ appId: 'billing', ...billing });
  const peers = await listen(nodeHandler(callee.sidecar.peers));
  const url = at === 'peers' ? peers.url : callee.server.url;
  const caller = await startInvocation({ nameResolution: { static: { billing: url } }, ...shop });
  return new Pair(caller, callee, peers);
}

describe.each(['sidecar', 'dapr'] as const)('policies of an application, on wire %s', (wire) => {
  const RETRIES = { policies: { retries: { DefaultAppRetryPolicy: { duration: 0, maxRetries: 3 } } } };
  const TIMEOUT = { policies: { timeouts: { DefaultAppTimeoutPolicy: '10ms' } } };
  const BREAKER = { policies: { circuitBreakers: { DefaultAppCircuitBreakerPolicy: { trip: 'totalFailures >= 1' } } } };
  const fails: RequestListener = (_req, res) => void res.writeHead(500).end();

  describe.each(['peers', 'api'] as const)('reached at its %s port', (at) => {
    const called = (
      { shop = {}, billing = {} }: { readonly shop?: TestSidecarOptions; readonly billing?: TestSidecarOptions },
      callee: RequestListener = fails,
    ): Promise<Pair> => pair({ at, shop: { wire, ...KEYS, ...shop }, billing: { wire, ...KEYS, ...billing, callee } });

    test.each([
      ['with one file for both it is called once, and again for each of the caller’s retries', RETRIES, RETRIES, 4],
      ['with the caller’s file alone it is called as often', RETRIES, undefined, 4],
      ['with its own file alone it is called once', undefined, RETRIES, 1],
    ])('%s', async (_, shop, billing, calls) => {
      await using world = await called({
        ...(shop && { shop: { resiliency: shop } }),
        ...(billing && { billing: { resiliency: billing } }),
      });
      const answer = world.shop.send('POST', '/v1.0/invoke/billing/method/charge', { body: 'x' });
      // Both clocks: where a policy of the callee held, its retries would come, too.
      await vi.waitFor(async () => {
        for (const { clock } of [world.shop, world.billing]) await clock.advance(1);
        expect(await Promise.race([answer, undefined])).toBeDefined();
      }, 10_000);
      expect((await answer).status).toBe(500);
      expect(world.billing.app.list).toHaveLength(calls);
    });

    test('the callee’s time-out does not end a call of another sidecar', async () => {
      const held: (() => void)[] = [];
      await using world = await called({ billing: { resiliency: TIMEOUT } }, (_req, res) => {
        held.push(() => res.end('late'));
      });
      const answer = world.shop.send('POST', '/v1.0/invoke/billing/method/charge');
      await expect.poll(() => held).toHaveLength(1);
      await world.billing.clock.advance('1s');
      for (const end of held) end();
      expect(await answer).toMatchObject({ status: 200, text: 'late' });
    });

    test('the callee’s circuit breaker neither counts nor refuses a call of another sidecar', async () => {
      await using world = await called({ billing: { resiliency: BREAKER } });
      for (let nth = 0; nth < 3; nth++) await world.shop.send('POST', '/v1.0/invoke/billing/method/charge');
      expect(world.billing.app.list).toHaveLength(3);
      expect(world.billing.sidecar.health.breakers()).toEqual([]);
    });
  });

  test('an application that calls itself has the policies of its own ID', async () => {
    await using world = await startInvocation({ wire, resiliency: BREAKER, callee: fails });
    const send = () =>
      world.sidecar.invocation.invoke('shop', 'charge', { method: 'POST' }).then(({ status }) => status);
    expect(await send()).toBe(500);
    await expect(send()).rejects.toThrow('circuit breaker is open');
    expect(world.app.list).toHaveLength(1);
  });
});

describe.each(['peers', 'api'] as const)('an application with a sidecar of its own, reached at its %s port', (at) => {
  const caller = { 'sidecar-caller-app-id': 'shop', 'sidecar-caller-namespace': 'default' };

  test.each([
    ['with keys', KEYS],
    ['without keys, from a sidecar of the same process', {}],
  ])('is called with path, query, body and answer as they are, and is told who calls, %s', async (_, keys) => {
    await using world = await pair({
      at,
      shop: keys,
      billing: { ...keys, callee: (_req, res, body) => res.writeHead(201, { 'x-answer': '1' }).end(body) },
    });
    for (const target of ['billing', 'billing.default']) {
      const answer = await world.shop.send('POST', `/v1.0/invoke/${target}/method/a%2Fb//c/?x=1%20`, {
        headers: { 'x-asked': '1', 'sidecar-caller-app-id': 'evil', 'sidecar-callee-app-id': 'evil' },
        body: Buffer.alloc(200_000, 'y'),
      });
      expect([answer.status, answer.headers['x-answer'], answer.bytes.length]).toEqual([201, '1', 200_000]);
      const { last } = world.billing.app;
      expect([last.method, last.path, last.headers['x-asked']]).toEqual(['POST', '/a%2Fb//c/?x=1%20', '1']);
      const ours = Object.entries(last.headers).filter(([name]) => name.startsWith('sidecar-'));
      expect(Object.fromEntries(ours)).toEqual({
        ...caller,
        'sidecar-callee-app-id': 'billing',
      });
    }
    for (const path of ['/', '//', '/?x=1']) {
      const reply = await world.shop.sidecar.invocation.invoke('billing', path);
      const { last } = world.billing.app;
      expect([reply.status, last.path, last.headers]).toEqual([201, path, expect.objectContaining(caller)]);
      expect(last.headers['sidecar-app-id']).toBeUndefined();
    }
    expect(world.shop.app.list).toEqual([]);
  });

  test('is called by names beyond ASCII, which are percent-encoded in header fields', async () => {
    await using billing = await startInvocation({ appId: '店', namespace: '東京', ...KEYS });
    await using peers = await listen(nodeHandler(billing.sidecar.peers));
    const nameResolution = { static: { 店: at === 'peers' ? peers.url : billing.server.url } };
    await using shop = await startInvocation({ appId: '客', namespace: '東京', nameResolution, ...KEYS });
    expect((await shop.send('GET', `/v1.0/invoke/${encodeURIComponent('店')}/method/x`)).status).toBe(200);
    expect((await shop.sidecar.invocation.invoke('店', '/')).status).toBe(200);
    expect(billing.app.last.headers).toMatchObject({
      'sidecar-caller-app-id': encodeURIComponent('客'),
      'sidecar-caller-namespace': encodeURIComponent('東京'),
      'sidecar-callee-app-id': encodeURIComponent('店'),
    });
  });

  test('its access control sees the caller, the verb and the cleaned path: else 403 ERR_DIRECT_INVOKE', async () => {
    await using world = await pair({ at, shop: KEYS, billing: { ...KEYS, ...POLICY } });
    const ask = async (method: string, path: string): Promise<number> =>
      (await world.shop.send(method, `/v1.0/invoke/billing/method${path}`)).status;
    expect(await ask('GET', '/open/x/y')).toBe(200);
    expect(await ask('GET', '/read')).toBe(200);
    expect(await ask('GET', '/read//')).toBe(200);
    expect(await ask('GET', '/%72ead')).toBe(200);
    const calls = world.billing.app.list.length;
    expect(await ask('POST', '/read')).toBe(403);
    expect(await ask('GET', '//read')).toBe(403);
    expect(await ask('GET', '/secret')).toBe(403);
    expect(await ask('GET', '/')).not.toBe(200);
    expect(await ask('GET', '/open/..%2Fsecret')).toBe(400);
    expect(await ask('GET', '/open%2F..%2Fsecret')).toBe(400);
    expect(await ask('GET', '/open/%252e%252e/secret')).toBe(400);
    const answer = await world.shop.send('GET', '/v1.0/invoke/billing/method/secret');
    expect(answer.error).toEqual([403, 'ERR_DIRECT_INVOKE']);
    expect(world.billing.app.list).toHaveLength(calls);
  });

  test('who signs with another key is refused with 401, who has none only gets what everybody gets', async () => {
    await using world = await pair({ at, shop: OTHER_KEYS, billing: { ...KEYS, ...POLICY } });
    expect((await world.shop.send('GET', '/v1.0/invoke/billing/method/read')).error).toEqual([401, 'ERR_UNAUTHORIZED']);
    await using bare = await pair({ at, billing: { ...KEYS, ...POLICY } });
    expect((await bare.shop.send('GET', '/v1.0/invoke/billing/method/read')).error).toEqual([403, 'ERR_DIRECT_INVOKE']);
    expect([...world.billing.app.list, ...bare.billing.app.list]).toEqual([]);
  });

  test('who proves nothing has no name there, when it has keys', async () => {
    await using world = await pair({ at, billing: KEYS });
    expect((await world.shop.send('GET', '/v1.0/invoke/billing/method/read')).status).toBe(200);
    expect(world.billing.app.last.headers).not.toHaveProperty('sidecar-caller-app-id');
    expect(world.billing.app.last.headers).not.toHaveProperty('sidecar-caller-namespace');
    expect(world.billing.app.last.headers['sidecar-callee-app-id']).toBe('billing');
  });
});

test('a mark counts only while its call is under way', async () => {
  const marks: unknown[] = [];
  await using spy = await listen((req, res) => {
    marks.push(req.headers['sidecar-peer']);
    res.end();
  });
  await using shop = await startInvocation({ nameResolution: { static: { billing: spy.url } } });
  expect((await shop.send('GET', '/v1.0/invoke/billing/method/read')).status).toBe(200);
  await using billing = await startInvocation({ appId: 'billing' });
  const headers = { 'sidecar-peer': String(marks[0]), 'sidecar-caller-app-id': 'shop' };
  expect((await billing.send('GET', '/v1.0/invoke/billing/method/read', { headers })).status).toBe(200);
  expect(billing.app.last.headers).not.toHaveProperty('sidecar-caller-app-id');
});

describe('header fields of a client that claims to be another sidecar', () => {
  const CLAIMS = {
    'sidecar-caller-app-id': 'evil',
    'sidecar-caller-namespace': 'evil',
    'sidecar-callee-app-id': 'evil',
  };
  const OWN = { 'sidecar-caller-app-id': 'shop', 'sidecar-caller-namespace': 'default' };

  test.each<[what: string, options: InvocationWorldOptions, headers: Record<string, string>, told: object]>([
    ['with a mark', {}, { 'sidecar-peer': '1' }, {}],
    [
      'with a mark and the API token',
      { apiToken: 'token' },
      { 'sidecar-peer': '1', 'sidecar-api-token': 'token' },
      { 'sidecar-api-token': 'app' },
    ],
    ['with a mark, of a sidecar with keys', KEYS, { 'sidecar-peer': '1' }, {}],
    ['with an identity that nobody can verify', {}, { 'sidecar-identity': 'junk' }, OWN],
  ])('%s, do not reach the application', async (_, options, headers, told) => {
    const appToken = options.apiToken === undefined ? {} : { appToken: 'app' };
    await using world = await startInvocation({ ...options, ...appToken });
    for (const [path, target] of [
      ['/v1.0/invoke/shop/method/foo', {}],
      ['/foo', { 'sidecar-app-id': 'shop' }],
    ] as const) {
      expect((await world.send('GET', path, { headers: { ...CLAIMS, ...headers, ...target } })).status).toBe(200);
      const ours = Object.entries(world.app.last.headers).filter(([name]) => name.startsWith('sidecar-'));
      expect(Object.fromEntries(ours)).toEqual({ ...told, 'sidecar-callee-app-id': 'shop' });
    }
  });

  test.each([
    ['with a mark', {}, { 'sidecar-peer': '1' }],
    ['with an identity that nobody can verify', {}, { 'sidecar-identity': 'junk' }],
  ])('%s, do not make a call without a method name one of the root', async (_, options, headers) => {
    await using world = await startInvocation(options);
    const answer = await world.send('GET', '/v1.0/invoke/shop/method/', { headers });
    expect(answer.error).toEqual([400, 'ERR_DIRECT_INVOKE']);
    expect(world.app.list).toEqual([]);
  });

  test('at the port for sidecars, name nobody', async () => {
    await using world = await pair();
    const headers = { ...CLAIMS, 'sidecar-peer': '1' };
    const call = request('GET', '/v1.0/invoke/billing/method/foo', { headers });
    expect((await world.billing.sidecar.peers.handle(call)).status).toBe(200);
    expect(Object.values(world.billing.app.last.headers)).not.toContain('evil');
  });
});

describe('what other sidecars are offered', () => {
  test('is the invocation of the own application and the health probes, and nothing else', async () => {
    await using world = await pair();
    const { handle } = world.billing.sidecar.peers;
    for (const path of ['/v1.0/metadata', '/v1.0/healthz/other', '/v1.0/publish/pubsub/orders', '/orders']) {
      const headers = { 'sidecar-app-id': 'billing' };
      expect((await handle(request('GET', path, { headers }))).status, path).toBe(404);
    }
    for (const target of ['shop', 'nobody', 'http%3A%2F%2F127.0.0.1', 'billing.other']) {
      const { status, body } = await handle(request('GET', `/v1.0/invoke/${target}/method/x`));
      expect([status, (await bytesOf(body)).toString()]).toEqual([500, expect.stringContaining('ERR_DIRECT_INVOKE')]);
      const root = await handle(request('GET', '/', { headers: { 'sidecar-app-id': target } }));
      expect([root.status, (await bytesOf(root.body)).toString()]).toEqual([
        500,
        expect.stringContaining('ERR_DIRECT_INVOKE'),
      ]);
    }
    expect((await handle(request('GET', '/'))).status).toBe(404);
    expect((await handle(request('GET', '/v1.0/healthz'))).status).toBe(204);
    expect(world.billing.app.list).toEqual([]);
  });

  test('on the port of the API needs no API token with a valid identity, and without one it does', async () => {
    const apiToken = 'token';
    await using keyed = await pair({ at: 'api', shop: KEYS, billing: { ...KEYS, apiToken } });
    expect((await keyed.shop.send('GET', '/v1.0/invoke/billing/method/x')).status).toBe(200);
    const path = '/v1.0/invoke/billing/method/x';
    for (const headers of [{}, { 'sidecar-peer': '1' }, { 'sidecar-identity': 'x' }, { 'sidecar-identity': '' }])
      expect((await keyed.billing.send('GET', path, { headers })).error).toEqual([401, 'ERR_UNAUTHORIZED']);
    const other = { 'sidecar-identity': 'x' };
    expect((await keyed.billing.send('GET', '/v1.0/metadata', { headers: other })).status).toBe(401);
    await using keyless = await pair({ at: 'api', billing: { apiToken } });
    expect((await keyless.shop.send('GET', '/v1.0/invoke/billing/method/x')).status).toBe(401);
    expect((await keyless.billing.send('GET', path, { headers: other })).status).toBe(401);
  });

  test('the token of the caller’s API does not leave it, nor does that of its application', async () => {
    await using world = await pair({ shop: { apiToken: 'api', appToken: 'app' }, billing: { appToken: 'theirs' } });
    const headers = { 'sidecar-api-token': 'api' };
    expect((await world.shop.send('GET', '/v1.0/invoke/billing/method/x', { headers })).status).toBe(200);
    expect(world.billing.app.last.headers['sidecar-api-token']).toBe('theirs');
  });
});

describe('the own application under access control', () => {
  test('over the API without a token everybody is unknown; in code it needs no permission', async () => {
    await using world = await startInvocation({ ...POLICY, ...KEYS });
    const answer = await world.send('GET', '/v1.0/invoke/shop/method/read');
    expect(answer.error).toEqual([403, 'ERR_DIRECT_INVOKE']);
    const byHeader = await world.send('GET', '/read', { headers: { 'sidecar-app-id': 'shop' } });
    expect(byHeader.error).toEqual([403, 'ERR_DIRECT_INVOKE']);
    expect(world.app.list).toEqual([]);
    expect((await world.sidecar.invocation.invoke('shop', '/read')).status).toBe(200);
  });

  test('with the API token it needs no permission', async () => {
    await using world = await startInvocation({ ...POLICY, ...KEYS, apiToken: 'token' });
    const headers = { 'sidecar-api-token': 'token' };
    expect((await world.send('GET', '/v1.0/invoke/shop/method/secret', { headers })).status).toBe(200);
  });
});

describe('instances', () => {
  test('one that takes no connection is left out, the next one is called at once', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`;
    await using billing = await startInvocation({ appId: 'billing' });
    await using shop = await startInvocation({ nameResolution: { static: { billing: [dead, billing.server.url] } } });
    const startedAt = shop.clock.now();
    for (let round = 0; round < 6; round++)
      expect((await shop.send('POST', '/v1.0/invoke/billing/method/x', { body: 'y' })).status).toBe(200);
    expect(shop.clock.now()).toBe(startedAt);
  });

  test('a long body goes to the next one too, when nobody has read of it', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`;
    await using billing = await startInvocation({ appId: 'billing' });
    await using shop = await startInvocation({ nameResolution: { static: { billing: [dead, billing.server.url] } } });
    for (let round = 0; round < 6; round++) {
      const body = Buffer.alloc(300_000, 'z');
      expect((await shop.send('POST', '/v1.0/invoke/billing/method/x', { body })).status).toBe(200);
      expect(billing.app.last.bytes.length).toBe(300_000);
    }
  });

  test('sidecars of one process on one store find each other, and know each other without keys', async () => {
    const state = sharedState(memoryState());
    await using billing = await startInvocation({ appId: 'billing', state, ...POLICY });
    await using shop = await startInvocation({ state });
    expect((await shop.send('GET', '/v1.0/invoke/billing/method/read')).status).toBe(200);
    expect((await shop.send('GET', '/v1.0/invoke/billing/method/secret')).error).toEqual([403, 'ERR_DIRECT_INVOKE']);
    expect(billing.app.last.headers['sidecar-caller-app-id']).toBe('shop');
  });
});

describe('resiliency', () => {
  const retrying = (apps: string): TestSidecarOptions => ({
    resiliency: {
      policies: { retries: { fast: { policy: 'constant', duration: '1s', maxRetries: 2 } } },
      targets: { apps: { [apps]: { retry: 'fast' } } },
    },
  });

  test('a policy repeats what failed with the same body; the last answer is passed on as it is', async () => {
    let calls = 0;
    await using world = await startInvocation({
      ...retrying('shop'),
      callee: (_req, res) => res.writeHead(503).end(`try ${++calls}`),
    });
    const asked = world.send('POST', '/v1.0/invoke/shop/method/x', { body: Buffer.alloc(200_000, 'b') });
    let answered = false;
    void asked.then(() => {
      answered = true;
    });
    while (!answered) {
      await world.clock.advance(500);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const answer = await asked;
    expect([answer.status, answer.text]).toEqual([503, 'try 3']);
    expect(world.app.list.map(({ bytes }) => bytes.length)).toEqual([200_000, 200_000, 200_000]);
  });

  test('a body that is longer than what is kept is sent once', async () => {
    await using world = await startInvocation({
      ...retrying('shop'),
      bodyLimitBytes: 100_000,
      callee: (_req, res) => res.writeHead(503).end(),
    });
    const answer = await world.send('POST', '/v1.0/invoke/shop/method/x', { body: Buffer.alloc(200_000, 'b') });
    expect([answer.status, world.app.list.length]).toEqual([503, 1]);
  });

  test('a time-out ends with the head of the answer; the caller’s going and a stop still reach what is streamed', async () => {
    const policy = {
      resiliency: { policies: { timeouts: { short: '1s' } }, targets: { apps: { shop: { timeout: 'short' } } } },
    };
    let left = 0;
    const listener: RequestListener = (_req, res) => {
      res.on('close', () => left++);
      res.write('begun');
    };
    const world = await startInvocation({ ...policy, via: 'port', listener });
    const caller = new AbortController();
    const invoke = (init: InvocationInit = {}): Promise<InvocationReply> =>
      world.sidecar.invocation.invoke('shop', '/x', init);
    const [first, second] = [await invoke({ signal: caller.signal }), await invoke()];
    await world.clock.advance('1m');
    expect(left).toBe(0);
    const [texts, closing] = [Promise.allSettled([first.text(), second.text()]), world[Symbol.asyncDispose]()];
    caller.abort();
    expect((await texts).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await closing;
  });

  test('an application that is not healthy is 500, and is not called', async () => {
    let calls = 0;
    const listener: RequestListener = (req, res) => {
      if (req.url === '/healthz') return void res.writeHead(503).end();
      calls++;
      res.end();
    };
    await using world = await startInvocation({ app: { listener, health: true } });
    const answer = await world.send('GET', '/v1.0/invoke/shop/method/x');
    expect(answer.error).toEqual([500, 'ERR_DIRECT_INVOKE']);
    expect(answer.json['message']).toContain('not healthy');
    expect(calls).toBe(0);
  });
});
