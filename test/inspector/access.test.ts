/** Who may use the inspector, and what it answers to others. */
import { describe, expect, test } from 'vitest';
import { Sidecar } from '../../src/index.ts';
import type { InspectOptions } from '../../src/inspector/index.ts';
import { inspect } from '../../src/inspector/index.ts';
import { type Inspected, inspected, TOKEN } from './inspected.ts';

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
  const { request } = await import('../../src/index.ts');
  const reply = await inspect(sidecars, { access: 'open' }).handle(request('GET', '/api/v1/apps'));
  const { apps } = JSON.parse(Buffer.from(reply.body as Uint8Array).toString()) as { apps: { key: string }[] };
  expect(apps.map(({ key }) => key)).toEqual(['shop', 'shop~2', 'cart', 'shop~3']);
});

describe('options', () => {
  const sidecar = new Sidecar({ appId: 'shop' });

  test.each<[string, object, RegExp]>([
    ['two ways', { token: TOKEN, access: 'open' }, /token and access exclude each other/],
    ['an empty token', { token: '' }, /options\.token of inspect: expected visible ASCII/],
    ['a token with spaces', { token: 'a b' }, /options\.token of inspect: expected visible ASCII/],
    ['another access', { access: 'all' }, /options\.access of inspect is "all": expected "open"/],
    ['authorize that is no function', { authorize: true }, /options\.authorize of inspect is a boolean/],
    ['an unknown one', { tokn: TOKEN }, /unknown field "tokn".*did you mean "token"/],
    ['a host with a port', { hosts: ['a:80'] }, /options\.hosts of inspect is \["a:80"\]/],
    ['other payloads', { payloads: 'some' }, /options\.payloads of inspect is "some"/],
    ['a traceUrl without its place', { traceUrl: 'https://x' }, /options\.traceUrl of inspect/],
    ['a traceUrl of another scheme', { traceUrl: 'javascript:{traceId}' }, /options\.traceUrl of inspect/],
    ['readOnly that is text', { readOnly: 'yes' }, /options\.readOnly of inspect is "yes"/],
    ['a limit of 0', { bodyLimitBytes: 0 }, /options\.bodyLimitBytes of inspect is 0/],
  ])('%s is refused', (_what, options, message) => {
    expect(() => inspect(sidecar, options as InspectOptions)).toThrow(message);
  });

  test('something that is no sidecar is refused', () => {
    for (const given of [[], undefined, {}, [sidecar, null]])
      expect(() => inspect(given as never, { access: 'open' })).toThrow(/expected a Sidecar/);
  });
});
