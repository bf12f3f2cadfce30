/** What a browser must know of answers that come from elsewhere, and what it must not send there. */
import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, test } from 'vitest';
import { listen, type RequestHeaders } from '../support/http.ts';
import { startInvocation } from '../support/invocation-world.ts';

describe('the answer of a service without a sidecar', () => {
  const HOSTILE = {
    ...{
      'content-type': 'text/html',
      'x-content-type-options': 'sniff',
      'clear-site-data': '"*"',
      'alt-svc': 'h2="evil:443"',
    },
    ...{ 'service-worker-allowed': '/', 'strict-transport-security': 'max-age=1', nel: '{}', 'report-to': '{}' },
    'set-cookie': ['a=1', 'b=2'],
  };

  /** What the caller gets of a service, and what the service has got. */
  async function called(target: 'url' | 'endpoint', answered: object, headers: RequestHeaders = {}) {
    let seen: IncomingHttpHeaders = {};
    await using service = await listen((req, res) => {
      seen = req.headers;
      res.writeHead(200, answered as Record<string, string>).end('<script>1</script>');
    });
    await using world = await startInvocation({ httpEndpoints: [{ name: 'weather', baseUrl: service.url }] });
    const name = target === 'url' ? encodeURIComponent(service.url) : 'weather';
    const answer = await world.send('GET', `/v1.0/invoke/${name}/method/x`, { headers });
    return { answer, seen, world };
  }

  test.each(['url', 'endpoint'] as const)('has no origin and no script in a browser (%s)', async (target) => {
    const { answer } = await called(target, HOSTILE);
    const { headers } = answer;
    expect([answer.text, headers['content-type']]).toEqual(['<script>1</script>', 'text/html']);
    expect([headers['content-security-policy'], headers['x-content-type-options']]).toEqual(['sandbox', 'nosniff']);
    for (const name of [
      'clear-site-data',
      'alt-svc',
      'service-worker-allowed',
      'strict-transport-security',
      'nel',
      'report-to',
    ])
      expect(headers).not.toHaveProperty(name);
    expect(headers['set-cookie']).toEqual(target === 'url' ? undefined : ['a=1', 'b=2']);
  });

  test.each([
    [{ 'content-security-policy': "default-src 'self'" }, "default-src 'self', sandbox"],
    [
      { 'content-security-policy': ['sandbox allow-scripts allow-same-origin', ''] },
      'sandbox allow-scripts allow-same-origin, , sandbox',
    ],
    [{ 'content-security-policy': '' }, 'sandbox'],
  ])('keeps its own policy, %o, which holds too', async (answered, expected) => {
    expect((await called('url', answered)).answer.headers['content-security-policy']).toBe(expected);
  });

  test.each([
    ['url', undefined],
    ['endpoint', 'session=1'],
  ] as const)('is to a request without what the browser keeps for this host (%s)', async (target, cookie) => {
    const sent = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', authorization: 'Bearer x', 'x-a': '1' };
    const { seen } = await called(target, {}, { cookie: 'session=1', ...sent });
    expect(seen).toMatchObject({ ...sent, 'sec-fetch-site': 'cross-site' });
    expect(seen['cookie']).toBe(cookie);
  });

  test('is left as it is for code, and so is that of an application', async () => {
    await using service = await listen((req, res) => res.writeHead(200, { 'set-cookie': req.headers.cookie }).end());
    await using shop = await startInvocation({ callee: (_req, res) => res.end('<p>') });
    const reply = await shop.sidecar.invocation.invoke(service.url, 'x', { headers: { cookie: 'a=1' } });
    expect([reply.headers['set-cookie'], reply.headers['content-security-policy']]).toEqual(['a=1', undefined]);
    const own = await shop.send('GET', '/v1.0/invoke/shop/method/x', { headers: { cookie: 'a=1' } });
    expect([own.headers['content-security-policy'], shop.app.last.headers['cookie']]).toEqual([undefined, 'a=1']);
  });
});
