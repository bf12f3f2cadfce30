import { describe, expect, test } from 'vitest';
import { nodeHandler } from '../../src/index.ts';
import { type Answer, listen, send } from '../support/http.ts';
import { createWorld, startWorld, type World, type WorldOptions } from '../support/world.ts';

const SHOP = 'https://shop.example.com';
const PREFLIGHT = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'content-type, x-trace',
};

function crossOrigin(answer: Answer): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(answer.headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary'),
  );
}

const publish = '/v1.0/publish/pubsub/orders';
const preflight = (world: World, origin: string, headers: Record<string, string> = PREFLIGHT): Promise<Answer> =>
  world.send('OPTIONS', publish, { headers: { origin, ...headers } });

describe('without the option', () => {
  test('nothing is said, and a preflight is a request like any other', async () => {
    await using world = await startWorld({ apiToken: 'secret' });
    expect((await preflight(world, SHOP)).status).toBe(401);
    const answer = await world.send('GET', '/v1.0/healthz', { headers: { origin: SHOP } });
    expect(crossOrigin(answer)).toEqual({});
  });
});

describe('with a list of origins', () => {
  const options: WorldOptions = { cors: { origins: [SHOP, 'http://*.example.org:8080'] }, apiToken: 'secret' };

  test('a preflight is answered before the API token is asked for', async () => {
    await using world = await startWorld(options);
    const answer = await preflight(world, SHOP);
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(crossOrigin(answer)).toEqual({
      'access-control-allow-origin': SHOP,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'content-type, x-trace',
      vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    });
  });

  test.each<[what: string, origin: string, headers: Record<string, string>]>([
    ['another origin', 'https://evil.example', PREFLIGHT],
    ['another method', SHOP, { 'access-control-request-method': 'TRACE' }],
    ['a method in small letters', SHOP, { 'access-control-request-method': 'post' }],
    ['headers that are none', SHOP, { ...PREFLIGHT, 'access-control-request-headers': 'a b' }],
  ])('a preflight of %s is told nothing', async (_, origin, headers) => {
    await using world = await startWorld(options);
    const answer = await preflight(world, origin, headers);
    expect(answer.status).toBe(200);
    expect(Object.keys(crossOrigin(answer))).toEqual(['vary']);
  });

  test.each<[origin: string, isAllowed: boolean]>([
    [SHOP, true],
    ['HTTPS://SHOP.example.com', true],
    ['http://a.example.org:8080', true],
    ['http://x-1.example.org:8080', true],
    ['http://a.b.example.org:8080', false],
    ['http://.example.org:8080', false],
    ['http://evil.com/.example.org:8080', false],
    ['http://evil.com#.example.org:8080', false],
    ['http://a.example.org:80800', false],
    ['http://a.example.org', false],
    ['https://a.example.org:8080', false],
    ['http://shop.example.com', false],
    ['https://shop.example.com.evil.example', false],
    ['https://shop.example.com:8443', false],
    ['null', false],
    ['*', false],
    [`${SHOP}, https://evil.example`, false],
  ])('of a page at %s: %s', async (origin, isAllowed) => {
    await using world = await startWorld(options);
    const answer = await world.send('GET', '/v1.0/metadata', { headers: { origin, 'sidecar-api-token': 'secret' } });
    expect(answer.status).toBe(200);
    expect(crossOrigin(answer)).toEqual({
      vary: 'Origin',
      ...(isAllowed ? { 'access-control-allow-origin': origin } : {}),
    });
  });

  test('an error can be read as well, and answers differ by origin for caches', async () => {
    await using world = await startWorld(options);
    const refused = await world.send('GET', '/v1.0/metadata', { headers: { origin: SHOP } });
    expect([refused.status, crossOrigin(refused)]).toEqual([
      401,
      { vary: 'Origin', 'access-control-allow-origin': SHOP },
    ]);
    expect(crossOrigin(await world.send('GET', '/v1.0/healthz'))).toEqual({ vary: 'Origin' });
  });

  test.each<[what: string, path: string, fields: string, isOurs: boolean]>([
    ['a route of ours', publish, 'content-type', true],
    ['a call by header', '/orders', 'content-type, sidecar-app-id', true],
    ['a path of the application behind', '/orders', 'content-type', false],
  ])('with fallthrough, of preflights only ours are answered: %s', async (_, path, fields, isOurs) => {
    await using world = await startWorld(options);
    const listener = nodeHandler(world.sidecar, { fallthrough: true });
    await using server = await listen((req, res) => listener(req, res, () => res.writeHead(299).end()));
    const headers = { origin: SHOP, ...PREFLIGHT, 'access-control-request-headers': fields };
    expect((await send(server.url, 'OPTIONS', path, { headers })).status).toBe(isOurs ? 200 : 299);
  });

  test('an OPTIONS request that is no preflight goes its way', async () => {
    await using world = await startWorld(options);
    expect((await world.send('OPTIONS', publish, { headers: { origin: SHOP } })).status).toBe(401);
  });

  test('what an application behind the sidecar allows is replaced', async () => {
    await using world = await startWorld({
      ...options,
      answer: () => ({
        headers: { 'access-control-allow-origin': '*', 'access-control-allow-credentials': 'true', vary: 'Accept' },
      }),
    });
    const headers = { origin: 'https://evil.example', 'sidecar-api-token': 'secret' };
    const answer = await world.send('POST', '/v1.0/invoke/shop/method/x', { headers });
    expect([answer.status, crossOrigin(answer)]).toEqual([200, { vary: 'Accept, Origin' }]);
  });
});

describe('with * alone', () => {
  test('every page may read, without credentials', async () => {
    await using world = await startWorld({ cors: { origins: ['*'] } });
    const answer = await world.send('GET', '/v1.0/healthz', { headers: { origin: 'https://any.example' } });
    expect(crossOrigin(answer)).toEqual({ 'access-control-allow-origin': '*' });
    expect(crossOrigin(await preflight(world, 'null'))).toMatchObject({ 'access-control-allow-origin': '*' });
  });
});

test.each([
  'shop.example.com',
  'https://shop.example.com/',
  'https://shop.example.com/path',
  'https://*',
  'https://*.',
  'https://a*.example.com',
  'https://*.*.example.com',
  'https://shop.*.com',
  'https://user@shop.example.com',
  'null',
])('%s is refused as an origin', async (origin) => {
  await expect(createWorld({ cors: { origins: [origin] } })).rejects.toThrow(
    `options.cors.origins.0 ${JSON.stringify(origin)}`,
  );
});

test('* beside others is refused', async () => {
  await expect(createWorld({ cors: { origins: [SHOP, '*'] } })).rejects.toThrow('options.cors.origins.1 "*"');
});
