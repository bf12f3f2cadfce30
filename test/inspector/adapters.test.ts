/** The inspector behind every adapter, with and without a prefix, and behind a proxy that strips one. */
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import express from 'express';
import { describe, expect, test } from 'vitest';
import { expressHandler, memoryPubSub, Sidecar } from '../../src/index.ts';
import { inspect } from '../../src/inspector/index.ts';
import { MOUNTS, type Mount } from '../adapters/mounts.ts';
import { Answer, listen, send } from '../support/http.ts';
import { TOKEN, untilEnd, WRITE } from './inspected.ts';

async function mounted(mount: Mount, prefix: string): Promise<string> {
  const sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')] });
  untilEnd(sidecar);
  await sidecar.start();
  const server = await listen(await mount(inspect(sidecar, { token: TOKEN }), prefix));
  untilEnd(server);
  return server.url;
}

/** As a browser follows a relative reference. */
const followed = (url: string, location: string | undefined): string => {
  const { pathname, search } = new URL(location ?? 'nowhere:', url);
  return pathname + search;
};

/** Opens the page with a token like a browser, and uses it. */
async function use(url: string, path: string): Promise<void> {
  let place = `${path}?token=${TOKEN}`;
  let cookie = '';
  let page = new Answer(0, {}, Buffer.alloc(0));
  for (let redirects = 0; redirects < 3; redirects++) {
    page = await send(url, 'GET', place, { headers: cookie === '' ? {} : { cookie } });
    if (page.status !== 303) break;
    cookie ||= page.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    place = followed(url + place, page.headers.location);
  }
  expect([page.status, page.headers['content-type']]).toEqual([200, expect.stringContaining('text/html')]);
  expect(page.headers['cache-control']).toBe('no-cache');
  expect(place).toMatch(/\/$/);
  const [, script = ''] = /<script[^>]+src="([^"]+)"/.exec(page.text) ?? [];
  const asset = await send(url, 'GET', followed(url + place, script), { headers: { 'accept-encoding': 'gzip' } });
  expect(asset.headers).toMatchObject({
    'content-encoding': 'gzip',
    'cache-control': expect.stringContaining('immutable'),
  });
  expect(asset.headers['content-type']).toContain('javascript');
  expect(gunzipSync(asset.bytes).length).toBeGreaterThan(1_000);
  const apps = await send(url, 'GET', `${place}api/v1/apps`, { headers: { cookie } });
  expect(apps.json).toMatchObject({ role: 'write', apps: [{ key: 'shop' }] });
  const headers = { ...WRITE, cookie, 'sec-fetch-site': 'same-origin' };
  const body = { name: 'report', schedule: '@yearly', data: '{"a":1.10}', ifExists: 'replace' };
  expect((await send(url, 'POST', `${place}api/v1/jobs`, { headers, body })).json).toEqual({ changed: true });
  expect((await send(url, 'GET', `${place}api/v1/jobs/one?name=report`, { headers: { cookie } })).text).toContain(
    '1.10',
  );
  expect((await send(url, 'HEAD', `${place}api/v1/apps`, { headers: { cookie } })).text).toBe('');
}

describe.each(Object.entries(MOUNTS))('%s', (_name, mount) => {
  test('at the root', async () => {
    await use(await mounted(mount, ''), '/');
  });

  test('without the slash at the end of the prefix, the page is redirected to it', async () => {
    const redirected = await send(await mounted(mount, '/tools/inspector'), 'GET', '/tools/inspector?a=b');
    expect([redirected.status, redirected.headers.location]).toEqual([303, './inspector/?a=b']);
  });

  test.each(['/tools/inspector/', '/tools/inspector'])('is used at %s', async (path) => {
    await use(await mounted(mount, '/tools/inspector'), path);
  });

  test('ends a stream when the sidecar stops', async () => {
    const sidecar = new Sidecar({ appId: 'shop' });
    untilEnd(sidecar);
    await sidecar.start();
    const server = await listen(await mount(inspect(sidecar, { token: TOKEN }), '/inspector'));
    untilEnd(server);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const response = await fetch(`${server.url}/inspector/api/v1/live`, { headers });
    expect(response.status).toBe(200);
    await sidecar.stop();
    expect(await response.text()).toContain('event: ended');
  });
});

test('behind a proxy that strips a prefix', async () => {
  const inner = await mounted(MOUNTS['Express 5'] ?? (() => () => undefined), '/inspector');
  const proxy = createServer((req, res) => {
    const url = req.url?.replace(/^\/team\/shop/, '') ?? '/';
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const headers = req.headers as Record<string, string>;
      void send(inner, req.method ?? 'GET', url, { headers, body: Buffer.concat(chunks) }).then((answer) => {
        const { 'transfer-encoding': _chunked, ...rest } = answer.headers;
        res.writeHead(answer.status, rest).end(answer.bytes);
      });
    });
  });
  const server = await listen((req, res) => proxy.emit('request', req, res));
  untilEnd(server);
  for (const path of ['/team/shop/inspector', '/team/shop/inspector/']) await use(server.url, path);
});

test('a page that is not the inspector’s is left to the application', async () => {
  const app = express();
  const sidecar = new Sidecar({ appId: 'shop' });
  app.use(expressHandler(inspect(sidecar, { token: TOKEN }), { prefix: '/inspector', fallthrough: true }));
  app.use((_req, res) => void res.status(299).end('the application'));
  const server = await listen(app);
  untilEnd(server);
  for (const path of ['/', '/other', '/inspector/other', '/inspectors'])
    expect((await send(server.url, 'GET', path)).text).toBe('the application');
  expect((await send(server.url, 'GET', '/inspector/api/v1/apps')).status).toBe(401);
});
