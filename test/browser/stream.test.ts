/** The stream of the page: goes on after a loss where it was, costs nothing while nobody looks, and ends. */
import type { RequestListener, ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { nodeHandler } from '../../src/index.ts';
import type { Inspector } from '../../src/inspector/index.ts';
import { hasChromium } from '../support/servers.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { until, type View, Viewing } from './browser.ts';
import { TOKEN, World } from './world.ts';

describe.skipIf(!hasChromium())('the stream', () => {
  let world: World | undefined;
  /** The streams that are open, and where each that was opened has gone on. */
  const open = new Set<ServerResponse>();
  const resumedAt: (string | undefined)[] = [];
  afterEach(async () => {
    await world?.[Symbol.asyncDispose]();
    open.clear();
    resumedAt.length = 0;
  });
  // After the world: hooks run in reverse, and a page must be closed before what it looks at.
  const viewing = new Viewing();

  const mount = (inspector: Inspector): RequestListener => {
    const answer = nodeHandler(inspector);
    return (req, res) => {
      if (req.url?.startsWith('/api/v1/live') === true) {
        open.add(res);
        resumedAt.push(req.headers['last-event-id'] as string | undefined);
        res.once('close', () => open.delete(res));
      }
      answer(req, res);
    };
  };

  async function start(): Promise<World> {
    world = await World.open({ mount });
    return world;
  }

  const stateOf = (view: View): Promise<string | null> => view.page.locator('header.top .button.live').textContent();

  /** As when the user goes to another tab, which a browser without a screen does not have. */
  const turn = (view: View, to: 'hidden' | 'visible'): Promise<unknown> =>
    view.page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${to}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);

  test('after a loss it goes on where it was', async () => {
    const { order, port, url } = bound(await start());
    await using proxy = await TcpProxy.start(port);
    const lost = /ERR_|net::/;
    const view = await viewing.open(url.replace(String(port), String(proxy.port)), { expects: lost });
    await view.go('/messages', 'Messages');
    await order(1);
    await view.row('order-1').filter({ hasText: 'delivered' }).waitFor();
    const before = resumedAt.length;
    // The address of a server that is gone.
    proxy.target = 1;
    proxy.cut();
    await view.shows('reconnecting', view.page.locator('header.top'));
    await order(2);
    proxy.target = port;
    await view.row('order-2').waitFor();
    await until(() => resumedAt.slice(before).some((id) => Number(id) > 0)).toBe(true);
    await until(() => stateOf(view)).toContain('live');
  });

  test('a row goes when its outcome is no more the one that is asked for', async () => {
    const { shop, url } = bound(await start());
    let finish = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await shop.pubsub.subscribe('notes', 'slow', () => held);
    const view = await viewing.open(url);
    await view.go('/messages?outcome=delivering', 'Messages');
    await until(() => open.size).toBe(1);
    await shop.pubsub.publish('notes', 'slow', 'a note', { cloudEvent: { id: 'slow-1' } });
    await view.row('slow-1').waitFor();
    finish();
    await view.row('slow-1').waitFor({ state: 'detached' });
  });

  test('while the tab is hidden or the page paused there is none', async () => {
    const { order, url } = bound(await start());
    const view = await viewing.open(url);
    await view.go('/messages', 'Messages');
    await until(() => open.size).toBe(1);
    await turn(view, 'hidden');
    await until(() => open.size).toBe(0);
    await order(1);
    await turn(view, 'visible');
    await view.row('order-1').waitFor();
    await until(() => open.size).toBe(1);
    await view.page.keyboard.press('p');
    await until(() => open.size).toBe(0);
    await view.shows('paused', view.page.locator('header.top'));
    await order(2);
    await view.page.keyboard.press('p');
    await view.row('order-2').waitFor();
    // One for the whole tab, whatever is shown.
    await view.go('/calls', 'Calls');
    await view.go('/', 'Overview');
    await until(() => open.size).toBe(1);
  });

  test('it ends with the sidecar, and the page says so', async () => {
    const { url, shop } = bound(await start());
    const view = await viewing.open(url, { expects: /status of (503|500)/ });
    await view.go('/messages', 'Messages');
    await until(() => open.size).toBe(1);
    const startedAt = performance.now();
    await shop.stop();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await view.shows('stopped', view.page.locator('header.top'));
    await until(() => open.size).toBe(0);
  });

  test('a ninth viewer is told that there are too many, and gets a place when one goes', async () => {
    const { url, origin } = await start();
    const others = new AbortController();
    const init = { headers: { authorization: `Bearer ${TOKEN}` }, signal: others.signal };
    for (let at = 0; at < 8; at++) expect((await fetch(`${origin}/api/v1/live`, init)).status).toBe(200);
    const view = await viewing.open(`${url}#/messages`, { expects: /status of 503/ });
    await view.heads('Messages');
    await until(() => stateOf(view)).toContain('reconnecting');
    others.abort();
    await until(() => stateOf(view)).toContain('live');
  });

  function bound(opened: World): {
    order: (id: number) => Promise<void>;
    port: number;
    url: string;
    shop: World['shop'];
  } {
    const { url, shop } = opened;
    return { order: (id) => opened.order({ id, price: id }), port: Number(new URL(url).port), url, shop };
  }
});
