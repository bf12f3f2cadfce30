/** What the pages of strangers have browsers send to an API without a token. */
import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import { nodeHandler, Sidecar, type SidecarOptions } from '../../src/index.ts';
import { RawClient } from '../../src/kit/adapter-client.ts';
import { MOUNTS } from '../adapters/mounts.ts';
import { type Answer, comingFrom, listen, type RequestHeaders, send } from '../support/http.ts';
import { startInvocation } from '../support/invocation-world.ts';
import { RecordingLogger } from '../support/logger.ts';
import { startWorld } from '../support/world.ts';

const METADATA = '/v1.0/metadata';
const CHROME = 'Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36';
const ELSEWHERE = '10.0.0.7';
const PAGE = 'https://shop.example.com';

interface Asked {
  readonly options?: SidecarOptions;
  /** Where the request comes from. Default: this host. */
  readonly from?: string;
  readonly method?: string;
  readonly path?: string;
}

async function ask(headers: RequestHeaders, { options, from, method = 'GET', path = METADATA }: Asked = {}) {
  await using sidecar = new Sidecar({ appId: 'shop', logger: new RecordingLogger(), ...options });
  await sidecar.start();
  const listener = nodeHandler(sidecar);
  await using server = await listen(from === undefined ? listener : comingFrom(from, listener));
  // Awaited here: the server must not be closed before.
  return await send(server.url, method, path, { headers });
}

const statusOf = async (headers: RequestHeaders, asked?: Asked): Promise<number> => (await ask(headers, asked)).status;

describe('without an API token, a request of a page of another origin is refused, by 403', () => {
  test.each<[what: string, headers: RequestHeaders]>([
    ['another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }],
    ['another port of this host', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }],
    ['an origin that the browser tells', { origin: 'http://evil.example' }],
    ['an origin on this host', { origin: 'http://127.0.0.1:5173' }],
    ['an origin that is hidden', { origin: 'null' }],
    ['an extension', { origin: 'chrome-extension://abcdef' }],
    ['a word that no browser says yet', { 'sec-fetch-site': 'other' }],
    ['two words', { 'sec-fetch-site': ['same-origin', 'cross-site'] }],
  ])('%s', async (_what, headers) => {
    const answer = await ask(headers);
    expect(answer.error).toEqual([403, 'ERR_UNAUTHORIZED']);
    expect(answer.json['message']).toMatch(/apiToken \(SIDECAR_API_TOKEN\).*option cors.*allowedHosts/);
  });

  test.each(['/v1.0/publish/pubsub/orders', '/v1.0/shutdown', '/v1.0/invoke/shop/method/charge', '/nothing/here'])(
    'a form that it sends to %s',
    async (path) => {
      const form = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', origin: 'null' };
      expect(await statusOf(form, { method: 'POST', path, options: { wire: 'dapr' } })).toBe(403);
    },
  );

  test('and nothing is done, and no body is waited for', async () => {
    await using world = await startWorld();
    using client = new RawClient(world.server.url);
    const head = ['host: localhost', 'origin: http://evil.example', 'content-length: 100'];
    client.send('POST /v1.0/publish/pubsub/orders HTTP/1.1', ...head, '', 'begun');
    await client.until(() => client.received.includes('HTTP/1.1 403'));
    expect(world.deliveries).toEqual([]);
  });

  test('a preflight is told nothing, and does not reach the application', async () => {
    await using world = await startInvocation({
      callee: (_req, res) => res.writeHead(204, { 'access-control-allow-origin': '*' }).end(),
    });
    const headers = { origin: PAGE, 'access-control-request-method': 'POST' };
    const answer = await world.send('OPTIONS', '/v1.0/invoke/shop/method/x', { headers });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([403, undefined]);
    expect(world.app.list).toEqual([]);
  });
});

describe('a request whose answer a browser would show as a page is refused', () => {
  test.each<[what: string, headers: RequestHeaders]>([
    ['a link on a page', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
    ['a link in a mail', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
    ['a frame of a page of its own', { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'iframe' }],
    ['an embedded object', { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'object' }],
    ['a service worker', { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'serviceworker' }],
    ['a browser that only says that it would like TLS', { 'upgrade-insecure-requests': '1' }],
  ])('%s', async (_what, headers) => {
    expect(await statusOf(headers)).toBe(403);
    // Reading by fetch is what CORS is for.
    const options = { cors: { origins: [PAGE] } };
    expect(await statusOf({ origin: PAGE, ...headers }, { options, method: 'POST' })).toBe(403);
  });

  test('but health tells nothing that a page could use', async () => {
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', host: 'evil.example' };
    expect(await statusOf(link, { path: '/v1.0/healthz' })).toBe(204);
  });
});

describe('the name by which the API is reached', () => {
  test.each(['evil.example', 'evil.example:3500', 'localhost.evil.example', '127.0.0.1.evil.example', '0.0.0.0:3500'])(
    '%s is refused on this host, whoever asks: a page can make a browser pass for another client',
    async (host) => {
      for (const from of [undefined, '::1', '::ffff:127.0.0.1']) {
        const answer = await ask({ host }, from === undefined ? {} : { from });
        expect([answer.status, answer.json['message']], from).toEqual([403, expect.stringContaining(`"${host}"`)]);
      }
    },
  );

  test.each([
    'localhost',
    'LOCALHOST:1',
    'localhost.:99',
    'shop.localhost',
    '127.0.0.1:99',
    '127.1',
    '[::1]:80',
    '10.0.0.5:3500',
    '',
  ])('%j is its own, for browsers too', async (host) => {
    expect(await statusOf({ host, 'user-agent': CHROME, 'sec-fetch-site': 'same-origin' })).toBe(200);
  });

  test.each(['orders-sidecar:3500', 'host.docker.internal:3500', 'orders.shop.svc.cluster.local:3500'])(
    '%s, which nobody can own, is refused to browsers only',
    async (host) => {
      expect(await statusOf({ host })).toBe(200);
      expect(await statusOf({ host, 'user-agent': CHROME })).toBe(403);
    },
  );

  test.each<[what: string, headers: RequestHeaders, status: number]>([
    ['a program', { 'user-agent': 'Go-http-client/1.1' }, 200],
    ['a program that names nothing', {}, 200],
    ['PowerShell', { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041.1' }, 200],
    ["Node's fetch", { 'user-agent': 'node', 'sec-fetch-mode': 'cors', 'accept-language': '*' }, 200],
    ['a browser', { 'user-agent': CHROME }, 403],
    ['a page that is read', { 'sec-fetch-site': 'same-origin' }, 403],
    ['a page that sends', { origin: 'http://orders.example:3500' }, 403],
  ])('from elsewhere, any name is taken of %s: %o', async (_what, headers, status) => {
    // The second is where Istio passes requests on from.
    for (const from of [ELSEWHERE, '127.0.0.6'])
      expect(await statusOf({ host: 'orders.example:3500', ...headers }, { from }), from).toBe(status);
  });

  test('is one of allowedHosts, or the host of address', async () => {
    const options = { allowedHosts: ['Sidecar.Example'], address: 'http://orders.example:3500' };
    const browser = { 'user-agent': CHROME, 'sec-fetch-site': 'same-origin' };
    for (const host of ['sidecar.example:8443', 'SIDECAR.example', 'orders.example:3500'])
      expect(await statusOf({ host, ...browser }, { options }), host).toBe(200);
    expect(await statusOf({ host: 'other.example', ...browser }, { options })).toBe(403);
    // As a proxy asks that puts its own address in the place of the name.
    expect(await statusOf({ ...browser, origin: 'https://sidecar.example' }, { options })).toBe(200);
  });

  test('that is the host of address has pages at the port of address only', async () => {
    const options = { address: 'http://10.0.0.5:3500' };
    const asked = (host: string, origin: string) => statusOf({ host, origin }, { options, from: ELSEWHERE });
    for (const host of ['10.0.0.5:3500', '127.0.0.1:3500']) {
      expect(await asked(host, 'http://10.0.0.5:3500'), host).toBe(200);
      expect(await asked(host, 'http://10.0.0.5'), host).toBe(403);
    }
  });

  test.each(['*', 'a:80', 'http://a', '', 'a/b'])('%j in allowedHosts is refused', (name) => {
    expect(() => new Sidecar({ appId: 'shop', allowedHosts: [name] })).toThrow(
      /options\.allowedHosts\.0 must be the name of a host, without a port/,
    );
  });

  test.each<[what: string, headers: RequestHeaders, status: number]>([
    ['a browser that hides its page', { 'user-agent': CHROME }, 403],
    ['a page of another origin', { 'user-agent': CHROME, referer: 'http://evil.example/10.0.0.5:3500' }, 403],
    ['a page of its own', { 'user-agent': CHROME, referer: 'http://10.0.0.5:3500/page' }, 200],
    ['a browser that tells more', { 'user-agent': CHROME, 'sec-fetch-site': 'same-origin' }, 200],
    ['a program', { 'user-agent': 'python-requests/2.32' }, 200],
  ])(
    'that is an address of another host, to which browsers say little, is taken of %s: %o',
    async (_what, headers, status) => {
      expect(await statusOf({ host: '10.0.0.5:3500', ...headers }, { from: ELSEWHERE })).toBe(status);
    },
  );

  test('is not asked of code of this process, nor of HTTP/1.0', async () => {
    await using sidecar = new Sidecar({ appId: 'shop' });
    await sidecar.start();
    expect((await sidecar.handle(request('GET', METADATA))).status).toBe(200);
    await using server = await listen(nodeHandler(sidecar));
    using client = new RawClient(server.url);
    client.send(`GET ${METADATA} HTTP/1.0`, '', '');
    expect(await client.all()).toContain('HTTP/1.1 200');
  });

  test('over HTTP/2 is that of the authority', async () => {
    await using sidecar = new Sidecar({ appId: 'shop' });
    await sidecar.start();
    const asked = (authority: string) =>
      sidecar.handle(request('GET', METADATA, { headers: { ':authority': authority, 'user-agent': CHROME } }));
    expect((await asked('localhost:3500')).status).toBe(200);
    expect((await asked('evil.example:3500')).status).toBe(403);
  });
});

describe('what is not refused', () => {
  test.each<[what: string, headers: (host: string) => RequestHeaders]>([
    ['a program', () => ({ 'user-agent': 'curl/8.5.0', accept: '*/*' })],
    ["Node's fetch", () => ({ 'sec-fetch-mode': 'cors', 'user-agent': 'node', 'accept-language': '*' })],
    ['a program that gives itself for a browser', () => ({ 'user-agent': CHROME })],
    [
      'a page of its own',
      (host) => ({ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', origin: `http://${host}` }),
    ],
    ['an old browser with a page of its own', (host) => ({ origin: `http://${host}`, 'user-agent': CHROME })],
    ['what a user has begun without opening it', () => ({ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'cors' })],
  ])('%s', async (_what, headers) => {
    await using world = await startWorld();
    const { host } = new URL(world.server.url);
    const body = { id: 1 };
    expect((await world.send('POST', '/v1.0/publish/pubsub/orders', { headers: headers(host), body })).status).toBe(
      204,
    );
  });

  test('a page that CORS allows, under whatever name', async () => {
    const options = { cors: { origins: [PAGE] } };
    const headers = { origin: PAGE, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' };
    const answer = await ask({ ...headers, host: 'sidecar.example' }, { options });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, PAGE]);
    expect(await statusOf({ ...headers, origin: 'https://evil.example' }, { options })).toBe(403);
    const open = { cors: { origins: ['*'] } };
    expect(await statusOf({ ...headers, origin: 'null' }, { options: open })).toBe(200);
    // No origin is told by what a page cannot read.
    expect(await statusOf({ 'sec-fetch-site': 'cross-site' }, { options: open })).toBe(403);
  });

  test('whoever has the API token', async () => {
    const headers = { host: 'evil.example', origin: 'http://evil.example', 'sec-fetch-mode': 'navigate' };
    const options = { apiToken: 'the-token' };
    expect(await statusOf({ ...headers, 'sidecar-api-token': 'the-token' }, { options })).toBe(200);
    expect(await statusOf(headers, { options })).toBe(401);
  });

  test('what another sidecar passes on of a browser, and the same of a page is', async () => {
    const headers = {
      'sec-fetch-site': 'same-origin',
      'sec-fetch-mode': 'navigate',
      origin: PAGE,
      'user-agent': CHROME,
    };
    await using shop = await startInvocation();
    const table = { shop: shop.server.url };
    await using cart = await startInvocation({
      appId: 'cart',
      nameResolution: { static: table },
      apiToken: 'the-token',
    });
    const sent = { headers: { ...headers, 'sidecar-api-token': 'the-token' } };
    expect((await cart.send('GET', '/v1.0/invoke/shop/method/x', sent)).status).toBe(200);
    expect(shop.app.last.headers['origin']).toBe(PAGE);
    expect((await shop.send('GET', '/v1.0/invoke/shop/method/x', { headers })).status).toBe(403);
    // A page of a rebound name can send any field, this one too.
    const rebound = { 'sidecar-peer': '1', host: 'evil.example', 'user-agent': CHROME };
    expect((await shop.send('GET', '/v1.0/invoke/shop/method/x', { headers: rebound })).status).toBe(403);
  });
});

test('the port for other sidecars refuses pages, with an API token too', async () => {
  await using world = await startInvocation({ apiToken: 'the-token', cors: { origins: ['*'] } });
  await using server = await listen(nodeHandler(world.sidecar.peers));
  const call = (headers: RequestHeaders): Promise<Answer> =>
    send(server.url, 'GET', '/v1.0/invoke/shop/method/x', { headers });
  for (const headers of [
    { origin: PAGE },
    { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
    { host: 'evil.example' },
  ])
    expect((await call(headers)).status).toBe(403);
  expect((await call({})).status).toBe(200);
});

test('pages of the application that it is mounted in are not refused, under whatever name', async () => {
  await using sidecar = new Sidecar({ appId: 'shop' });
  await sidecar.start();
  const mounted = nodeHandler(sidecar, { fallthrough: true });
  await using server = await listen((req, res) => mounted(req, res, () => void res.writeHead(299).end()));
  const link = { host: 'shop.example', 'user-agent': CHROME, 'upgrade-insecure-requests': '1' };
  expect((await send(server.url, 'GET', '/page', { headers: link })).status).toBe(299);
  expect((await send(server.url, 'GET', METADATA, { headers: link })).status).toBe(403);
});

describe.each(Object.entries(MOUNTS))('%s', (_name, mount) => {
  test('refuses pages of strangers and rebound names', async () => {
    await using sidecar = new Sidecar({ appId: 'shop' });
    await sidecar.start();
    await using server = await listen(await mount(sidecar, '/internal'));
    const asked = async (headers: RequestHeaders, path = METADATA): Promise<number> =>
      (await send(server.url, 'GET', `/internal${path}`, { headers })).status;
    expect(await asked({})).toBe(200);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
      { origin: 'http://evil.example' },
      { host: 'evil.example', 'user-agent': CHROME },
    ])
      expect(await asked(headers), JSON.stringify(headers)).toBe(403);
  });
});
