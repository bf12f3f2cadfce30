/** `sidecar.peers` on a port that others reach: callers that prove nothing. */
import type { RequestListener } from 'node:http';
import { describe, expect, test } from 'vitest';
import { nodeHandler } from '../../src/index.ts';
import { makeIdentity } from '../../src/security/identity.ts';
import { type Answer, listen, send } from '../support/http.ts';
import { type InvocationWorld, type InvocationWorldOptions, startInvocation } from '../support/invocation-world.ts';

const ELSEWHERE = '10.0.0.7';
const IDENTITY = { keys: [{ secret: 'a shared secret of more than 32 bytes' }] };
const ALLOW = { defaultAction: 'allow' } as const;
const PATH = '/v1.0/invoke/shop/method/refund';

/** As if the connection came from that address. */
function from(address: string, listener: RequestListener): RequestListener {
  return (req, res) => {
    Object.defineProperty(req.socket, 'remoteAddress', { value: address, configurable: true });
    listener(req, res);
  };
}

async function ask(world: InvocationWorld, address = ELSEWHERE, headers: Record<string, string> = {}): Promise<Answer> {
  await using peers = await listen(from(address, nodeHandler(world.sidecar.peers)));
  return await send(peers.url, 'POST', PATH, { headers });
}

function warnings(world: InvocationWorld): readonly object[] {
  return world.logger.at('warn').map(({ message, details }) => ({ message, ...details }));
}

test('answers the health probes, and nothing else of the API', async () => {
  await using world = await startInvocation({ apiToken: 'api-secret', identity: IDENTITY });
  await using peers = await listen(from(ELSEWHERE, nodeHandler(world.sidecar.peers)));
  const statusOf = async (path: string): Promise<number> => (await send(peers.url, 'GET', path)).status;
  const probes = ['/v1.0/healthz', '/v1.0/healthz/outbound'];
  expect(await Promise.all(probes.map(statusOf))).toEqual([204, 204]);
  expect(await Promise.all(['/v1.0/metadata', '/v1.0/jobs/a', '/v1.0/healthz/other'].map(statusOf))).toEqual([
    404, 404, 404,
  ]);
  await world.sidecar.stop();
  expect(await Promise.all(probes.map(statusOf))).toEqual([500, 500]);
});

describe.each(['port', 'process'] as const)('the application (%s), called by who proves nothing', (via) => {
  const options: InvocationWorldOptions = { via, apiToken: 'api-secret', appToken: 'app-secret' };

  test.each<[what: string, more: InvocationWorldOptions, headers: Record<string, string>]>([
    ['without identity', {}, {}],
    ['without identity, with a claim', {}, { 'sidecar-peer': '1', 'sidecar-api-token': 'mine' }],
    ['with identity', { identity: IDENTITY }, {}],
    ['with identity, under an access control that allows', { identity: IDENTITY, accessControl: ALLOW }, {}],
  ])('gets no token and no name, %s', async (_what, more, headers) => {
    await using world = await startInvocation({ ...options, ...more });
    for (const address of [ELSEWHERE, '127.0.0.1']) {
      expect((await ask(world, address, headers)).status).toBe(200);
      const ours = Object.entries(world.app.last.headers).filter(([name]) => name.startsWith('sidecar-'));
      expect(Object.fromEntries(ours)).toEqual({ 'sidecar-callee-app-id': 'shop' });
    }
  });

  test('gets its token with a call that another sidecar has signed', async () => {
    await using world = await startInvocation({ ...options, identity: IDENTITY });
    const cart = { appId: 'cart', namespace: 'default', clock: world.clock, newId: () => 'id' };
    const token = await makeIdentity(IDENTITY, cart).sign({ appId: 'shop', namespace: 'default' });
    expect((await ask(world, ELSEWHERE, { 'sidecar-identity': token })).status).toBe(200);
    expect(world.app.last.headers).toMatchObject({
      'sidecar-api-token': 'app-secret',
      'sidecar-caller-app-id': 'cart',
    });
    expect(warnings(world)).toEqual([]);
  });

  test('gets its token with deliveries and calls of its own all the same', async () => {
    await using world = await startInvocation(options);
    await world.sidecar.invocation.invoke('shop', 'own');
    expect(world.app.last.headers['sidecar-api-token']).toBe('app-secret');
  });
});

describe('a call of another host to sidecar.peers that proves nothing', () => {
  test.each<[what: string, options: InvocationWorldOptions, remedy: RegExp]>([
    ['without identity', {}, /Set identity \(SIDECAR_IDENTITY_SECRET\) and accessControl, or .* 127\.0\.0\.1/],
    ['without identity, under access control', { accessControl: ALLOW }, /Set identity/],
    ['without access control', { identity: IDENTITY }, /Set accessControl with defaultAction: 'deny'/],
  ])('is warned of once, %s', async (_what, options, remedy) => {
    await using world = await startInvocation(options);
    for (let call = 0; call < 2; call++) expect((await ask(world)).status).toBe(200);
    const message = expect.stringMatching(/^sidecar\.peers answers other hosts that do not prove who they are/);
    expect(warnings(world)).toEqual([{ remoteAddress: ELSEWHERE, message }]);
    expect(warnings(world)).toEqual([{ remoteAddress: ELSEWHERE, message: expect.stringMatching(remedy) }]);
  });

  test.each<[what: string, options: InvocationWorldOptions, address: string, status: number]>([
    ['from this host', {}, '127.0.0.1', 200],
    ['where access control allows it', { identity: IDENTITY, accessControl: ALLOW }, ELSEWHERE, 200],
    ['where access control denies it', { accessControl: { defaultAction: 'deny' } }, ELSEWHERE, 403],
  ])('is not warned of %s', async (_what, options, address, status) => {
    await using world = await startInvocation(options);
    expect((await ask(world, address)).status).toBe(status);
    expect(warnings(world)).toEqual([]);
  });
});

test('an application that is called cannot speak for its caller at another one', async () => {
  const marks: unknown[] = [];
  await using shop = await startInvocation({ appToken: 'app-secret' });
  await using spy = await listen((req, res) => {
    marks.push(req.headers['sidecar-peer']);
    // The call is still under way.
    void ask(shop, ELSEWHERE, { 'sidecar-peer': String(marks[0]) }).then(({ status }) => res.end(String(status)));
  });
  await using cart = await startInvocation({ appId: 'cart', nameResolution: { static: { billing: spy.url } } });
  expect((await cart.send('GET', '/v1.0/invoke/billing/method/x')).text).toBe('200');
  expect(shop.app.last.headers).not.toHaveProperty('sidecar-caller-app-id');
  expect(shop.app.last.headers).not.toHaveProperty('sidecar-api-token');
});
