/** Who may use the inspector, and what it answers to others. */
import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import { nodeHandler, Sidecar } from '../../src/index.ts';
import type { InspectOptions } from '../../src/inspector/index.ts';
import { inspect } from '../../src/inspector/index.ts';
import { comingFrom, listen, type RequestHeaders, send } from '../support/http.ts';
import { type Inspected, inspected, TOKEN, untilEnd } from './inspected.ts';

test('every response says what a browser may do with it', async () => {
  const { send } = await inspected();
  for (const path of ['/', '/api/v1/apps', '/nothing', '/?token=wrong', `/?token=${TOKEN}`]) {
    const { headers } = await send('GET', path);
    expect(headers).toMatchObject({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
  }
});

test('without any access, everything is refused, and the answer says what to set', async () => {
  const { send } = await inspected({}, {});
  for (const path of ['/', '/api/v1/apps', `/?token=${TOKEN}`]) {
    const { status, json } = await send('GET', path);
    expect([status, json['message']]).toEqual([403, expect.stringMatching(/token, authorize and access/)]);
  }
});

test('open: whoever reaches it may act', async () => {
  const { send } = await inspected({}, { access: 'open' });
  expect((await send('GET', '/api/v1/apps')).json).toMatchObject({ role: 'write', apps: [{ key: 'shop' }] });
});

describe('a token', () => {
  test.each([
    ['none', {}],
    ['another one', { authorization: 'Bearer wrong' }],
    ['another scheme', { authorization: `Basic ${TOKEN}` }],
    ['a cookie of another', { cookie: 'insidecar-inspector-00000000=1.abc' }],
  ])('%s is refused, by 401', async (_what, headers) => {
    const { send, logger } = await inspected();
    expect((await send('GET', '/api/v1/apps', { headers })).error).toEqual([401, 'ERR_UNAUTHORIZED']);
    expect(JSON.stringify(logger.lines)).not.toContain(TOKEN);
  });

  test('in the query it becomes a cookie, which is not the token, and is stripped', async () => {
    const { send } = await inspected();
    const { status, headers } = await send('GET', `/?token=${TOKEN}`);
    const [cookie = ''] = headers['set-cookie'] ?? [];
    expect([status, headers.location]).toEqual([303, './']);
    expect(cookie).toMatch(/^insidecar-inspector-[0-9a-f]{8}=\d+\.[\w-]+; Max-Age=86400; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(TOKEN);
    const [pair = ''] = cookie.split(';');
    const admitted = await send('GET', '/api/v1/apps', { headers: { cookie: `a=b; ${pair}` } });
    expect(admitted.json).toMatchObject({ role: 'write' });
    // Another inspector with this token knows nothing of it: it is not derived from the token, which could be guessed by it.
    expect((await (await inspected()).send('GET', '/api/v1/apps', { headers: { cookie: pair } })).status).toBe(401);
    // With a later end it is no longer proved.
    const forged = pair.replace(/=\d+/, '=9999999999999');
    expect((await send('GET', '/api/v1/apps', { headers: { cookie: forged } })).status).toBe(401);
  });

  test('a wrong one in the query is refused, and told nowhere', async () => {
    const { send, logger } = await inspected();
    const { status, text, headers } = await send('GET', '/?token=wr0ng');
    expect([status, headers['set-cookie']]).toEqual([401, undefined]);
    expect(text + JSON.stringify(logger.lines)).not.toMatch(/wr0ng/);
  });

  test('cookies of inspectors on other ports have other names, whatever their tokens', async () => {
    const nameAt = async (port: number, token: string): Promise<string | undefined> => {
      const inspector = inspect(new Sidecar({ appId: 'shop' }), { token });
      const opened = request('GET', `/?token=${token}`, { headers: { host: `localhost:${port}` } });
      return /^[^=]+/.exec(String((await inspector.handle(opened)).headers['set-cookie']))?.[0];
    };
    const [one, same, other] = [await nameAt(1, TOKEN), await nameAt(1, 'a'.repeat(16)), await nameAt(2, TOKEN)];
    expect([one, other]).toEqual([same, expect.not.stringContaining(one ?? '')]);
  });

  test('20 wrong ones in a minute end the guessing of an address, and nobody else', async () => {
    const inspector = inspect(new Sidecar({ appId: 'shop' }), { token: TOKEN });
    const server = await listen(nodeHandler(inspector));
    untilEnd(server);
    const other = await listen(comingFrom('10.0.0.7', nodeHandler(inspector)));
    untilEnd(other);
    const page = await send(server.url, 'GET', `/?token=${TOKEN}`);
    const asked = async (token: string, { url } = server): Promise<number> =>
      (await send(url, 'GET', '/api/v1/apps', { headers: { authorization: `Bearer ${token}` } })).status;
    for (let guess = 0; guess < 20; guess++)
      expect(
        guess % 2 === 0 ? await asked(`guess-${guess}`) : (await send(server.url, 'GET', '/?token=x')).status,
      ).toBe(401);
    expect([await asked('guess'), await asked(TOKEN), await asked(TOKEN, other)]).toEqual([429, 429, 200]);
    const refused = await send(server.url, 'GET', `/?token=${TOKEN}`);
    expect([refused.status, refused.headers['set-cookie']]).toEqual([429, undefined]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50);
    // Who is in stays in.
    const cookie = page.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const { host } = new URL(server.url);
    expect((await send(server.url, 'GET', '/api/v1/apps', { headers: { cookie, host } })).status).toBe(200);
  });

  test('behind https the cookie is secure', async () => {
    const { send } = await inspected();
    const { headers } = await send('GET', `/?token=${TOKEN}`, { headers: { 'x-forwarded-proto': 'https' } });
    expect(headers['set-cookie']?.[0]).toMatch(/; Secure$/);
  });

  test('in the query of the API it counts for nothing', async () => {
    const { send } = await inspected();
    expect((await send('GET', `/api/v1/apps?token=${TOKEN}`)).status).toBe(401);
  });
});

describe('authorize', () => {
  test.each([
    ['none', 'none', 403],
    ['read', 'read', 200],
    ['write', 'write', 200],
    ['{ role, who }', { role: 'read', who: 'ann' }, 200],
  ] as const)('%s', async (_what, grant, status) => {
    const { send } = await inspected({}, { authorize: async () => grant });
    expect((await send('GET', '/api/v1/apps')).status).toBe(status);
    if (typeof grant === 'object') expect((await send('GET', '/api/v1/apps')).json).toMatchObject(grant);
  });

  test.each([
    [
      'an exception',
      () => {
        throw new Error('no');
      },
    ],
    ['a rejection', () => Promise.reject(new Error('no'))],
    ['no role', () => undefined as never],
    ['another role', () => 'admin' as never],
  ])('%s refuses', async (_what, authorize) => {
    const { send, logger } = await inspected({}, { authorize });
    for (const path of ['/', '/api/v1/apps']) expect((await send('GET', path)).status).toBe(403);
    expect(logger.at('warn').map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/authorize has failed/),
    );
  });

  test('it sees the request', async () => {
    const { send } = await inspected(
      {},
      { authorize: ({ headers }) => (headers['x-user'] === 'ann' ? 'read' : 'none') },
    );
    expect((await send('GET', '/api/v1/apps', { headers: { 'x-user': 'ann' } })).status).toBe(200);
    expect((await send('GET', '/api/v1/apps')).status).toBe(403);
  });
});

describe('the name of this host', () => {
  const ask = ({ send }: Inspected, host: string) => send('GET', '/api/v1/apps', { headers: { host } });

  test.each(['evil.example', 'evil.example:3500', 'localhost.evil.example', '127.0.0.1.evil.example', '0.0.0.0'])(
    '%s is refused on loopback',
    async (host) => {
      const { status, json } = await ask(await inspected({}, { access: 'open' }), host);
      expect([status, json['message']]).toEqual([403, expect.stringContaining('one of the option hosts')]);
    },
  );

  test.each(['localhost', 'LOCALHOST:1', '127.0.0.1:99', '[::1]:80', 'shop.localhost', 'Tools.Example:8080'])(
    '%s is accepted',
    async (host) => {
      const open = await inspected({}, { access: 'open', hosts: ['tools.example'] });
      expect((await ask(open, host)).status).toBe(200);
    },
  );
});

test.each([
  ['open', 'elsewhere', { access: 'open' }, 403],
  ['with a token', 'elsewhere', { token: TOKEN }, 200],
] as const)('%s, a browser that comes from %s needs a known name', async (_what, _from, options, status) => {
  const server = await listen(comingFrom('10.0.0.7', nodeHandler(inspect(new Sidecar({ appId: 'shop' }), options))));
  untilEnd(server);
  const asked = async (headers: RequestHeaders): Promise<number> =>
    (await send(server.url, 'GET', '/api/v1/apps', { headers: { authorization: `Bearer ${TOKEN}`, ...headers } }))
      .status;
  expect(await asked({ host: 'tools.example', 'user-agent': 'Mozilla/5.0 (X11; Linux x64)' })).toBe(status);
  expect(await asked({ host: 'tools.example' })).toBe(200);
});

test.each(['cross-site', 'same-site', 'nonsense'])('the API refuses pages that are %s', async (site) => {
  const { get } = await inspected();
  expect((await get('apps', { 'sec-fetch-site': site })).status).toBe(403);
  expect((await get('apps', { 'sec-fetch-site': 'same-origin' })).status).toBe(200);
});

describe('paths', () => {
  test.each([
    '/api/v1/../../etc/passwd',
    '/api/v1/%2e%2e/apps',
    '/..%2f..%2fetc/passwd',
    '/api/v1//apps',
    '/index.html/',
    '/api/v2/apps',
    '/__proto__',
    '/api/v1/__proto__',
    '/api/v1/constructor',
  ])('%s is nothing here', async (path) => {
    const { send } = await inspected({}, { access: 'open' });
    expect((await send('GET', path)).error).toEqual([404, 'ERR_NOT_FOUND']);
  });

  test.each(['other', '__proto__', 'constructor', 'shop~2', ''])('there is no application %j', async (key) => {
    const { get } = await inspected();
    expect((await get(`settings?app=${key}`)).error).toEqual([404, 'ERR_NOT_FOUND']);
  });

  test('another method is told which there are', async () => {
    const { send } = await inspected({}, { access: 'open' });
    const { status, headers } = await send('DELETE', '/api/v1/apps');
    expect([status, headers['allow']]).toEqual([405, 'GET']);
    expect((await send('POST', '/')).status).toBe(405);
  });
});

test('sidecars of the same name have keys of their own', async () => {
  const sidecars = ['shop', 'shop', 'cart', 'shop'].map((appId) => new Sidecar({ appId }));
  const reply = await inspect(sidecars, { access: 'open' }).handle(request('GET', '/api/v1/apps'));
  const { apps } = JSON.parse(Buffer.from(reply.body as Uint8Array).toString()) as { apps: { key: string }[] };
  expect(apps.map(({ key }) => key)).toEqual(['shop', 'shop~2', 'cart', 'shop~3']);
});

describe('options', () => {
  const sidecar = new Sidecar({ appId: 'shop' });

  test.each<[string, object, RegExp]>([
    ['two ways', { token: TOKEN, access: 'open' }, /token and access exclude each other/],
    ['an empty token', { token: '' }, /token in options of inspect: expected visible ASCII/],
    ['a token with spaces', { token: 'a b c d e f g h i' }, /token in options of inspect: expected visible ASCII/],
    ['a token that can be guessed', { token: 'fifteen-letters' }, /token in options of inspect: .* at least 16$/],
    ['another access', { access: 'all' }, /access in options of inspect is "all": expected one of open/],
    [
      'authorize that is no function',
      { authorize: true },
      /authorize in options of inspect is true: expected a function/,
    ],
    ['an unknown one', { tokn: TOKEN }, /unknown field "tokn".*did you mean "token"/],
    ['a host with a port', { hosts: ['a:80'] }, /hosts in options of inspect is \["a:80"\]/],
    ['other payloads', { payloads: 'some' }, /payloads in options of inspect is "some"/],
    ['a traceUrl without its place', { traceUrl: 'https://x' }, /traceUrl in options of inspect/],
    ['a traceUrl of another scheme', { traceUrl: 'javascript:{traceId}' }, /traceUrl in options of inspect/],
    ['readOnly that is text', { readOnly: 'yes' }, /readOnly in options of inspect is "yes"/],
    ['a limit of 0', { bodyLimitBytes: 0 }, /bodyLimitBytes in options of inspect is 0/],
  ])('%s is refused', (_what, options, message) => {
    expect(() => inspect(sidecar, options as InspectOptions)).toThrow(message);
  });

  test('something that is no sidecar is refused', () => {
    for (const given of [[], undefined, {}, [sidecar, null]])
      expect(() => inspect(given as never, { access: 'open' })).toThrow(/expected a Sidecar/);
  });
});
