/** A stranger's web page gets nothing from an API without a token, nor from the inspector, whatever a browser lets it do. */
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { memoryPubSub, nodeHandler, Sidecar, type SidecarOptions } from '../../src/index.ts';
import { inspect } from '../../src/inspector/index.ts';
import { type Listening, listen } from '../support/http.ts';
import { hasChromium } from '../support/servers.ts';
import { openBrowser, until } from './browser.ts';
import { TOKEN } from './world.ts';

/** An address of another host, for the browser: it says less about requests to it than about those to loopback. */
const ELSEWHERE = '10.1.2.3';

/** The stranger's server, what it was asked for, and what was brought to it. */
class Stranger {
  readonly asked: IncomingMessage[] = [];
  readonly got: string[] = [];
  /** Its page. */
  html = '';
  readonly listener = (req: IncomingMessage, res: ServerResponse): void => {
    this.asked.push(req);
    let body = '';
    req.on('data', (part: Buffer) => {
      body += part;
    });
    req.on('end', () => {
      if (req.url === '/got') this.got.push(body);
      res.setHeader('content-type', 'text/html');
      res.end(req.url === '/pwn' ? '<script>document.title = "pwned " + origin</script>' : this.html);
    });
  };
}

describe.skipIf(!hasChromium())('a page of a stranger', () => {
  const opened: AsyncDisposable[] = [];
  let stranger = new Stranger();
  let evil: Listening;
  /** By where the stranger's page comes from, for the browser: more is forbidden to pages of the internet. */
  let browsers: { readonly host: Browser; readonly internet: Browser };
  let context: BrowserContext;
  /** What the application was called for. */
  let called: string[] = [];

  beforeAll(async () => {
    evil = await listen((req, res) => stranger.listener(req, res));
    const names = `--host-resolver-rules=MAP *.test 127.0.0.1, MAP ${ELSEWHERE} 127.0.0.1`;
    const internet = `--ip-address-space-overrides=127.0.0.1:${evil.port}=public`;
    browsers = { host: await openBrowser([names]), internet: await openBrowser([names, internet]) };
  }, 60_000);
  afterAll(async () => {
    await Promise.all([browsers.host.close(), browsers.internet.close()]);
    await evil[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    stranger = new Stranger();
    called = [];
  });
  afterEach(async () => {
    await context.close();
    for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]();
  });

  async function browse(from: keyof typeof browsers = 'host'): Promise<void> {
    context = await browsers[from].newContext();
  }

  async function served(listener: Parameters<typeof listen>[0]): Promise<Listening> {
    const server = await listen(listener);
    opened.push(server);
    return server;
  }

  async function api(options: SidecarOptions = {}): Promise<{ readonly sidecar: Sidecar; readonly server: Listening }> {
    const app = (req: IncomingMessage, res: ServerResponse): void => {
      if (req.url?.startsWith('/sidecar/')) return void res.writeHead(404).end();
      called.push(`${req.method} ${req.url}`);
      res.end();
    };
    const sidecar = new Sidecar({
      appId: 'shop',
      app: { listener: app },
      components: [memoryPubSub('pubsub')],
      ...options,
    });
    opened.push(sidecar);
    await sidecar.start();
    return { sidecar, server: await served(nodeHandler(sidecar)) };
  }

  const target = (): string => `/v1.0/invoke/${encodeURIComponent(evil.url)}/method`;

  /** Opens the stranger's page, and waits until an attempt of it has ended. */
  async function visit(html: string): Promise<string> {
    stranger.html = html;
    const page = await context.newPage();
    const attempts: string[] = [];
    page.on('response', (response) => {
      if (!response.url().startsWith(`http://evil.test:${evil.port}/`)) attempts.push(String(response.status()));
    });
    page.on('requestfailed', (failed) => attempts.push(failed.failure()?.errorText ?? 'failed'));
    await page.goto(`http://evil.test:${evil.port}/`, { waitUntil: 'commit' }).catch(() => undefined);
    await until(() => attempts.length > 0).toBe(true);
    return attempts.join(' ');
  }

  describe.each(['host', 'internet'] as const)('that counts as one of the %s', (from) => {
    beforeEach(() => browse(from));

    test.each<[what: string, html: (url: string) => string]>([
      ['a link', (url) => `<script>location = '${url}${target()}/pwn'</script>`],
      ['a frame', (url) => `<iframe src="${url}${target()}/pwn"></iframe>`],
      ['an object', (url) => `<object data="${url}${target()}/pwn" type="text/html"></object>`],
      ['an image', (url) => `<img src="${url}/v1.0/invoke/shop/method/charge">`],
      ['a script', (url) => `<script src="${url}${target()}/pwn"></script>`],
      [
        'fetch',
        (url) =>
          `<script>fetch('${url}/v1.0/publish/pubsub/orders', { method: 'POST', mode: 'no-cors', body: '{}' })</script>`,
      ],
      [
        'fetch that asks before',
        (url) => `<script>fetch('${url}/v1.0/metadata/x', { method: 'PUT', body: '1' })</script>`,
      ],
      [
        'a form',
        (url) =>
          `<form method=POST enctype=text/plain action="${url}/v1.0/invoke/shop/method/charge"><input name=a value=b></form><script>document.forms[0].submit()</script>`,
      ],
    ])('does nothing by %s', async (_what, html) => {
      const { sidecar, server } = await api();
      const published: unknown[] = [];
      sidecar.events.on('messagePublished', (event) => published.push(event));
      for (const host of ['127.0.0.1', 'localhost', ELSEWHERE])
        expect(await visit(html(`http://${host}:${server.port}`)), host).toMatch(/^(403|net::ERR_\S+|csp)\b/);
      expect([called, published, sidecar.metadata.get().extended['x']]).toEqual([[], [], undefined]);
      expect(stranger.asked.map(({ url }) => url)).not.toContain('/pwn');
    });
  });

  test('reads nothing when its name suddenly leads here', async () => {
    await browse();
    const { sidecar, server } = await api();
    const inspector = await served(nodeHandler(inspect(sidecar, { access: 'open' })));
    for (const [port, path] of [
      [server.port, '/v1.0/metadata'],
      [inspector.port, '/api/v1/apps'],
    ] as const) {
      const page = await context.newPage();
      const answer = await page.goto(`http://evil.test:${port}${path}`);
      expect(answer?.status()).toBe(403);
      const read = `fetch('${path}', { headers: { 'sidecar-peer': '1' } }).then(({ status }) => status)`;
      expect(await page.evaluate(read)).toBe(403);
    }
  });

  test('does not get the cookie of the inspector by a link', async () => {
    await browse('internet');
    const { sidecar, server } = await api();
    const inspector = await served(nodeHandler(inspect(sidecar, { token: TOKEN })));
    await (await context.newPage()).goto(`${inspector.url}/?token=${TOKEN}`);
    expect(await context.cookies()).toHaveLength(1);
    expect(await visit(`<script>location = '${server.url}${target()}/pwn'</script>`)).toBe('403');
    expect(stranger.asked.filter(({ headers }) => headers.cookie !== undefined)).toEqual([]);
  });

  test('that the API shows all the same, as behind a proxy with the token, has neither its origin nor a cookie', async () => {
    await browse();
    const { sidecar, server } = await api({ apiToken: 'the-token-of-the-api' });
    const inspector = await served(nodeHandler(inspect(sidecar, { token: TOKEN })));
    const proxy = await served((req, res) => {
      const headers = { ...req.headers, 'sidecar-api-token': 'the-token-of-the-api' };
      const passed = request({ port: server.port, path: req.url, method: req.method, headers }, (answer) => {
        res.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(res);
      });
      req.pipe(passed);
    });
    const page = await context.newPage();
    await page.goto(`${inspector.url}/?token=${TOKEN}`);
    await page.goto(`${proxy.url}${target()}/pwn`);
    expect([await page.title(), await page.evaluate('origin')]).toEqual(['', 'null']);
    expect(stranger.asked.map(({ url, headers }) => [url, headers.cookie, headers['sec-fetch-site']])).toEqual([
      ['/pwn', undefined, 'cross-site'],
    ]);
    // And a page that has the origin of the API is another site for the inspector.
    await page.goto(`${proxy.url}/v1.0/healthz/nothing`);
    const via = `/v1.0/invoke/${encodeURIComponent(inspector.url)}/method/api/v1/apps`;
    expect(await page.evaluate(`fetch('${via}').then(({ status }) => status)`)).toBe(403);
  });

  test('is not what an application serves itself, nor what CORS allows', async () => {
    await browse();
    const { sidecar } = await api({ cors: { origins: [`http://evil.test:${evil.port}`] } });
    const prefixed = nodeHandler(sidecar, { prefix: '/internal', fallthrough: true });
    const server = await served((req, res) =>
      prefixed(req, res, () => void res.setHeader('content-type', 'text/html').end('<p>')),
    );
    const publish = `/internal/v1.0/publish/pubsub/orders`;
    const send = (url: string): string =>
      `fetch('${url}', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }).then(({ status }) => status)`;
    const page = await context.newPage();
    await page.goto(`http://localhost:${server.port}/`);
    expect(await page.evaluate(send(publish))).toBe(204);
    await page.goto(`http://evil.test:${evil.port}/`);
    expect(await page.evaluate(send(`${server.url}${publish}`))).toBe(204);
  });
});
