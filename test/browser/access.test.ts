/** Who may look may not act, whatever the page offers; and who may not look is told what to do. */
import { afterEach, describe, expect, test } from 'vitest';
import { hasChromium } from '../support/servers.ts';
import { Viewing } from './browser.ts';
import { TOKEN, World, type WorldOptions } from './world.ts';

/** Buttons that would change something, by page. */
const OFFERS: readonly (readonly [hash: string, heading: string])[] = [
  ['/messages', 'Messages'],
  ['/queues', 'Queues'],
  ['/queues/pubsub/orders/archive', 'orders → archive'],
  ['/dead-letters', 'Dead letters'],
  ['/jobs', 'Jobs'],
  ['/jobs/report', 'report'],
  ['/workflows', 'Workflows'],
  ['/workflows/checkout-2', 'checkout-2'],
];

describe.skipIf(!hasChromium())('access', () => {
  let world: World | undefined;
  afterEach(async () => {
    await world?.[Symbol.asyncDispose]();
    world = undefined;
  });
  // After the world: hooks run in reverse, and a page must be closed before what it looks at.
  const viewing = new Viewing();

  async function open(options: WorldOptions = {}): Promise<World> {
    world = await World.open(options);
    return world;
  }

  test.each([
    ['an inspector that is read-only', { readOnly: true, token: TOKEN }],
    ['somebody who may only look', { token: undefined, authorize: () => ({ role: 'read', who: 'ann' }) }],
  ] as const)('%s offers no action, and refuses one that is sent all the same', async (_what, options) => {
    const { url, shop, fill } = bound(await open({ inspect: options as NonNullable<WorldOptions['inspect']> }));
    await fill();
    const view = await viewing.open(url);
    await view.shows('read only', view.page.locator('header.top'));
    const offered: string[] = [];
    for (const [hash, heading] of OFFERS) {
      await view.go(hash, heading);
      const actions = view.page.locator('main .actions');
      await actions.getByRole('button').first().waitFor();
      const usable = await actions.locator('button:not([aria-disabled=true]):not(:disabled)').allInnerTexts();
      offered.push(...usable.filter((text) => text !== 'JSON').map((text) => `${hash}: ${text}`));
    }
    expect(offered).toEqual([]);
    view.expects = /status of 403/;
    const send = (path: string, body: object): Promise<number> =>
      view.page.evaluate<number>(`fetch('api/v1/${path}', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'insidecar-inspector': '1' },
        body: ${JSON.stringify(JSON.stringify(body))},
      }).then(({ status }) => status)`);
    const queue = { pubsubName: 'pubsub', topic: 'orders', group: 'archive' };
    expect(await send('queues/purge', { queue })).toBe(403);
    expect(await send('jobs/delete', { name: 'report' })).toBe(403);
    expect(await send('workflows/purge', { instanceId: 'checkout-2' })).toBe(403);
    expect((await shop.pubsub.queues.list({ topic: 'orders' })).find(({ group }) => group === 'archive')?.ready).toBe(
      2,
    );
    expect(await shop.jobs.get('report')).toBeDefined();
    expect(await shop.workflows.get('checkout-2')).toBeDefined();
    // Trying an event changes nothing.
    expect(await send('subscriptions/explain', { pubsubName: 'pubsub', topic: 'parcels', event: '{}' })).toBe(200);
  });

  test('a wrong token is told what to do', async () => {
    const { origin } = await open();
    // The browser also asks for an icon, which only the page names.
    const view = await viewing.open(`${origin}/?token=wrong`, { expects: /status of 40[14]/ });
    await view.shows(/token/i);
    expect(await view.page.locator('body').textContent()).toMatch(/\?token=/);
  });

  test('without any token, too', async () => {
    const { origin } = await open();
    const view = await viewing.open(origin, { expects: /status of 401/ });
    await view.shows(/\?token=/);
  });

  test('a token that is changed meanwhile: the page says what to do', async () => {
    let role: 'write' | 'none' = 'write';
    const { url } = await open({ inspect: { token: undefined, authorize: () => role } as never });
    const view = await viewing.open(url);
    await view.heads('Overview');
    role = 'none';
    view.expects = /status of 403/;
    await view.go('/jobs', 'Not allowed');
    await view.shows(/authorize/);
    await view.button('Try again').waitFor();
    role = 'write';
    // It asks again by itself.
    await view.heads('Jobs');
  });

  test('the token is gone from the address, and scripts cannot read the cookie', async () => {
    const view = await viewing.open((await open()).url);
    await view.heads('Overview');
    expect(view.page.url()).not.toContain('token');
    expect(await view.page.evaluate('document.cookie')).toBe('');
  });
});

function bound(world: World): Pick<World, 'url' | 'shop' | 'fill'> {
  return { url: world.url, shop: world.shop, fill: () => world.fill() };
}
