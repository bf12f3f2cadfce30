/** Every page with live data: what must be seen is, in both themes, on a narrow screen, and without barriers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium } from '../support/servers.ts';
import { barriers, type View, Viewing } from './browser.ts';
import { countUp } from './workflows.ts';
import { World } from './world.ts';

interface Case {
  readonly hash: string;
  readonly heading: string;
  /** Texts that must be visible. */
  readonly shows: readonly (string | RegExp)[];
}

const PAGES: readonly Case[] = [
  { hash: '/', heading: 'Overview', shows: ['Published', 'Needs attention', /order-3|orders/] },
  { hash: '/messages', heading: 'Messages', shows: ['order-1', 'parcel-1', 'note-1', 'dead-lettered', 'delivered'] },
  { hash: '/messages?topic=orders&outcome=deadLettered', heading: 'Messages', shows: ['order-3', 'order-5'] },
  { hash: '/queues', heading: 'Queues', shows: [/orders-failed → shop/, /orders → archive/, /notes/] },
  { hash: '/queues/pubsub/orders/archive', heading: 'orders → archive', shows: ['order-7', 'order-8'] },
  { hash: '/dead-letters', heading: 'Dead letters', shows: ['order-3', 'order-6', 'not known', /the price is/] },
  { hash: '/subscriptions', heading: 'Subscriptions', shows: ['event.type == "big"', /parcels → shop/] },
  { hash: '/jobs', heading: 'Jobs', shows: ['report', '0 30 2 * * *', /the printer is on fire/, 'reminder'] },
  { hash: '/jobs/report', heading: 'report', shows: ['Next runs', /the printer is on fire/, 'pages'] },
  { hash: '/workflows', heading: 'Workflows', shows: ['checkout-1', 'checkout-2', 'packOrder', 'completed', 'failed'] },
  { hash: '/workflows/checkout-2', heading: 'checkout-2', shows: [/the card was declined/, /charge/] },
  { hash: '/workflows/checkout-2?tab=history', heading: 'checkout-2', shows: [/ActivityFailed|failed/i] },
  { hash: '/workflows/approval-1', heading: 'approval-1', shows: ['waiting for the boss', 'timer'] },
  { hash: '/workflows/pack-1', heading: 'pack-1', shows: [/3 ↓/] },
  { hash: '/actors', heading: 'Actors', shows: ['Basket', 'ann', 'Waiting'] },
  { hash: '/actors?tab=reminders', heading: 'Actors', shows: ['expire', '2h', 'ann'] },
  { hash: '/actors/Basket/ann', heading: 'ann', shows: ['0 calls, 0 waiting', 'expire', '"apple"', '"***"'] },
  { hash: '/actors/Basket/ann?open=expire', heading: 'ann', shows: ['Reminder of Basket ann', '"reason": "idle"'] },
  { hash: '/actors/Basket/bob', heading: 'bob', shows: ['not active', 'It has no reminders.', 'It has no state.'] },
  {
    hash: '/stores',
    heading: 'Stores',
    shows: ['carts', 'encrypted', 'holds 1 lock', '1 subscription', '2 secrets only'],
  },
  {
    hash: '/stores/carts',
    heading: 'carts',
    shows: ['shop||', 'cart/1', 'cart/2', 'user:1:password', 'never', /in \d+/],
  },
  { hash: '/stores/carts?prefix=cart&open=cart%2F1', heading: 'carts', shows: ['cart/1', '"user": "ann"', '"***"'] },
  { hash: '/stores/carts?open=user:1:password', heading: 'carts', shows: ['its key is the name of a secret'] },
  { hash: '/stores/vault?open=card-1', heading: 'vault', shows: ['the values of this store are encrypted'] },
  { hash: '/stores/sessions', heading: 'sessions', shows: ['do not list their keys'] },
  { hash: '/stores/sessions?key=session-1', heading: 'sessions', shows: ['"user": "ann"'] },
  { hash: '/stores/locks', heading: 'locks', shows: ['nightly-report', 'worker-1', /in \d+/] },
  { hash: '/stores/settings', heading: 'settings', shows: ['currency', 'a function in code', /ago|now/] },
  { hash: '/stores/env', heading: 'env', shows: ['2 secrets only', 'BANK_TOKEN, DB_PASSWORD'] },
  { hash: '/stores/nothing', heading: 'nothing', shows: ['There is no store nothing.'] },
  { hash: '/calls', heading: 'Calls', shows: ['billing', 'carrier', '422'] },
  { hash: '/hosts', heading: 'Hosts', shows: ['shop', 'billing'] },
  { hash: '/settings', heading: 'Settings', shows: ['Health', 'app-channel', 'pubsub.durable', 'embedded'] },
  { hash: '/search?text=order-3', heading: 'Search', shows: ['order-3'] },
  { hash: '/nothing', heading: 'No such page', shows: ['Go to the overview'] },
  // The last one: the application stays chosen.
  { hash: '/queues?app=billing', heading: 'Queues', shows: ['invoices → billing'] },
];

describe.skipIf(!hasChromium())('pages', () => {
  const viewing = new Viewing();
  let world: World;
  beforeAll(async () => {
    world = await World.open();
    await world.fill();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** Goes through all pages with an open browser. */
  async function tour(view: View, look: (hash: string) => Promise<void>): Promise<void> {
    await view.heads('Overview');
    for (const { hash, heading, shows } of PAGES) {
      await view.go(hash, heading);
      for (const text of shows) await view.shows(text, view.page.locator('main'));
      expect(await view.page.locator('body').textContent()).not.toContain('swordfish');
      expect(await view.page.title()).toContain(heading);
      await look(hash);
    }
  }

  test.each(['light', 'dark'] as const)(
    'each shows what there is, and keeps nobody out, %s',
    async (colorScheme) => {
      const view = await viewing.open(world.url, { colorScheme, reducedMotion: 'reduce' });
      const found: string[] = [];
      await tour(view, async (hash) => {
        found.push(...(await barriers(view)).map((barrier) => `${hash} ${barrier}`));
      });
      expect(found).toEqual([]);
    },
    120_000,
  );

  test('a history of 10,000 events can be looked through', async () => {
    const { workflows } = world.shop;
    await workflows.start(countUp, 5000, { instanceId: 'long' });
    await workflows.run('long').ended();
    const view = await viewing.open(world.url);
    await view.heads('Overview');
    const startedAt = performance.now();
    await view.go('/workflows/long', 'long');
    await view.shows('activity count #1');
    // Some 300 ms where nothing else runs.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    const timeline = view.page.locator('section.timeline');
    await view.shows('Only the first 10,000 events are shown.');
    await timeline.focus();
    await view.page.keyboard.press('End');
    await view.shows('activity count #5000');
    // Only what is seen is drawn.
    expect(await timeline.locator('tr').count()).toBeLessThan(100);
    await timeline.getByRole('row', { name: 'activity count #5000' }).locator('td.took').click();
    await view.page.waitForURL(/[?&]open=/);
    await view.go('/workflows/long?tab=history', 'long');
    await view.page.getByRole('link', { name: 'Next' }).click();
    await view.shows('#150');
    expect(await view.page.locator('main tbody tr').count()).toBe(200);
  }, 60_000);

  test('on a narrow screen no page scrolls sideways', async () => {
    const view = await viewing.open(world.url, { viewport: { width: 360, height: 740 } });
    const wide: string[] = [];
    await tour(view, async (hash) => {
      const width = await view.page.evaluate<number>('document.documentElement.scrollWidth');
      if (width > 360) wide.push(`${hash} is ${width} wide`);
    });
    expect(wide).toEqual([]);
  }, 120_000);
});
