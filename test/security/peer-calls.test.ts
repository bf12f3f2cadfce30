import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { makeIdentity } from '../../src/security/identity.ts';
import type { IdentityOptions } from '../../src/security/identity-options.ts';
import type { Answer } from '../support/http.ts';
import { startWorld, type World, type WorldOptions } from '../support/world.ts';

const SECRET = 'a secret of more than thirty-two bytes';
const identity: IdentityOptions = { keys: [{ secret: SECRET }] };
const trusted = { appId: 'cart', namespace: 'default', trustDomain: 'public' };
const operation = (name: string): object => ({ name, httpVerb: ['POST'], action: 'allow' });
const guarded: WorldOptions = {
  identity,
  apiToken: 'api-token',
  appToken: 'app-token',
  accessControl: {
    defaultAction: 'deny',
    policies: [{ ...trusted, operations: [operation('/public/**'), operation('/orders')] as never }],
  },
};

/** A token of some application for the sidecar under test. */
function tokenOf(world: World, appId: string, options: IdentityOptions = identity, audience = 'shop'): Promise<string> {
  const host = { appId, namespace: 'default', clock: world.clock, newId: () => 'id' };
  return makeIdentity(options, host).sign({ appId: audience, namespace: 'default' });
}

async function call(
  world: World,
  path: string,
  appId = 'cart',
  headers: Record<string, string | string[]> = {},
): Promise<Answer> {
  const token = await tokenOf(world, appId);
  return world.send('POST', `/v1.0/invoke/shop/method${path}`, { headers: { 'sidecar-identity': token, ...headers } });
}

describe('a call of another sidecar', () => {
  test('needs no API token, and its application learns the proved name, not the claimed one', async () => {
    await using world = await startWorld(guarded);
    const claims = {
      'sidecar-caller-app-id': 'admin',
      'sidecar-caller-namespace': 'kube-system',
      'sidecar-app-id': 'x',
    };
    expect((await call(world, '/orders', 'cart', claims)).status).toBe(200);
    const headers = world.deliveries[0]?.headers;
    expect(headers).toMatchObject({
      'sidecar-caller-app-id': 'cart',
      'sidecar-caller-namespace': 'default',
      'sidecar-callee-app-id': 'shop',
      'sidecar-api-token': 'app-token',
    });
    expect(headers?.['sidecar-identity']).toBeUndefined();
  });

  test.each<[what: string, headers: (world: World) => Promise<Record<string, string | readonly string[]>>]>([
    ['no token of either kind', async () => ({})],
    ['no more than a claim', async () => ({ 'sidecar-peer': '1', 'sidecar-caller-app-id': 'cart' })],
    ['an empty identity', async () => ({ 'sidecar-identity': '' })],
    ['the API token for an identity', async () => ({ 'sidecar-identity': 'api-token' })],
    [
      'a token for another application',
      async (world) => ({ 'sidecar-identity': await tokenOf(world, 'cart', identity, 'other') }),
    ],
    [
      'a token of another key',
      async (world) => ({ 'sidecar-identity': await tokenOf(world, 'cart', { keys: [{ secret: `${SECRET}!` }] }) }),
    ],
    [
      'two tokens',
      async (world) => ({ 'sidecar-identity': [await tokenOf(world, 'cart'), await tokenOf(world, 'cart')] }),
    ],
  ])('with %s is 401, and nothing is called', async (_, headers) => {
    await using world = await startWorld(guarded);
    const answer = await world.send('POST', '/v1.0/invoke/shop/method/orders', { headers: await headers(world) });
    expect([answer.status, world.deliveries.length]).toEqual([401, 0]);
  });

  test('may name its target in a header field, as for the root; it is checked in the same way', async () => {
    await using world = await startWorld(guarded);
    const ask = async (path: string, proof: string, target = 'shop.default'): Promise<number> => {
      const headers = { 'sidecar-identity': proof, 'sidecar-app-id': target };
      return (await world.send('POST', path, { headers })).status;
    };
    const proof = await tokenOf(world, 'cart');
    expect([await ask('/orders', proof), await ask('/', proof), await ask('/orders', 'junk')]).toEqual([200, 403, 401]);
    expect([await ask('/orders', proof, 'other'), await ask('/orders', 'junk', '%zz')]).toEqual([500, 401]);
    expect(world.deliveries.map(({ path }) => path)).toEqual(['/orders']);
  });

  test('opens no other door of the API', async () => {
    await using world = await startWorld(guarded);
    const headers = { 'sidecar-identity': await tokenOf(world, 'cart') };
    for (const [method, path] of [
      ['GET', '/v1.0/metadata'],
      ['POST', '/v1.0/publish/pubsub/orders'],
      ['PUT', '/v1.0/metadata/a'],
      ['GET', '/nope'],
    ] as const)
      expect((await world.send(method, path, { headers })).status, path).toBe(401);
    const other = await world.send('POST', '/v1.0/invoke/other/method/orders', { headers });
    expect([other.status >= 400, world.deliveries.length]).toEqual([true, 0]);
  });

  test('is denied with 403 where the policy says so, and is told who, how and what', async () => {
    await using world = await startWorld(guarded);
    for (const [path, appId] of [
      ['/admin', 'cart'],
      ['/orders/1', 'cart'],
      ['/orders', 'stranger'],
    ] as const) {
      const answer = await call(world, path, appId);
      expect([answer.status, answer.json['errorCode']]).toEqual([403, 'ERR_DIRECT_INVOKE']);
      expect(answer.json['message']).toContain(appId);
      expect(answer.json['message']).toContain(`POST ${path}`);
    }
    expect(world.deliveries).toEqual([]);
  });

  test.each([
    '/public/../admin',
    '/public/%2e%2e/admin',
    '/public/%2E./admin',
    '/public%2f..%2fadmin',
    '/public/..%2fadmin',
    '/public/%252e%252e/admin',
    '/public/..%5cadmin',
    '/public\\..\\admin',
    '/public/..;/admin',
    '/public/%00/../admin',
    '/public%23/../../admin',
    '/public%3f/../../admin',
    '/public/x%23y',
    '/public/x%3Fy',
    '/orders%3F',
    '/orders%23/x',
    '/PUBLIC/x',
    '/%41dmin',
    '//public/admin',
    '/public%2fadmin',
    '/public%5Cadmin',
  ])('a way round is closed: %s', async (path) => {
    await using world = await startWorld(guarded);
    const answer = await call(world, path);
    expect([400, 403]).toContain(answer.status);
    expect(world.deliveries).toEqual([]);
  });

  test('with keys that belong to applications, one cannot speak for another', async () => {
    const [cart, stranger, own] = [1, 2, 3].map(() => {
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      return {
        privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
        publicKey: publicKey.export({ format: 'pem', type: 'spki' }) as string,
      };
    });
    if (!cart || !stranger || !own) throw new Error('no keys');
    const peers = { cart: { publicKey: cart.publicKey }, stranger: { publicKey: stranger.publicKey } };
    await using world = await startWorld({ ...guarded, identity: { keys: [own], peers } });
    const ask = async (key: typeof cart): Promise<number> => {
      const headers = { 'sidecar-identity': await tokenOf(world, 'cart', { keys: [key] }) };
      return (await world.send('POST', '/v1.0/invoke/shop/method/orders', { headers })).status;
    };
    expect([await ask(cart), await ask(stranger)]).toEqual([200, 401]);
  });

  test('leaves no token in logs, events and answers', async () => {
    await using world = await startWorld(guarded);
    const token = await tokenOf(world, 'cart');
    const answers: string[] = [];
    for (const identity of [token, `${token}x`, token.replace('.', 'x.')])
      for (const path of ['orders', 'admin', 'public/../x']) {
        const sent = { headers: { 'sidecar-identity': identity } };
        answers.push((await world.send('POST', `/v1.0/invoke/shop/method/${path}`, sent)).text);
      }
    const seen = JSON.stringify([answers, world.logger.lines, world.events]);
    for (const part of [...token.split('.'), SECRET]) expect(seen).not.toContain(part);
  });
});

test.each(['/a%23b', '/a%3Fb'])(
  'where every call is allowed by default, %s is denied: it cannot be decided',
  async (path) => {
    await using world = await startWorld({ identity, accessControl: { defaultAction: 'allow' } });
    expect((await call(world, path)).status).toBe(403);
    expect((await call(world, '/a%20b')).status).toBe(200);
  },
);

describe('the own application', () => {
  test('with the API token, or through the typed class, needs no permission', async () => {
    await using world = await startWorld(guarded);
    const headers = { 'sidecar-api-token': 'api-token' };
    expect((await world.send('POST', '/v1.0/invoke/shop/method/admin', { headers })).status).toBe(200);
    await world.sidecar.invocation.invoke('shop', 'admin', { method: 'POST' });
    expect(world.deliveries).toHaveLength(2);
  });

  test('without an API token nobody is known to be it: the default of all applies', async () => {
    const { apiToken: _, ...open } = guarded;
    await using world = await startWorld(open);
    expect((await world.send('POST', '/v1.0/invoke/shop/method/orders')).status).toBe(403);
    expect(world.deliveries).toEqual([]);
  });
});
