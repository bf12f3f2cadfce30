/**
 * Makes the pictures of docs/inspector.md. Run with `npm run screenshots`. Times, data and IDs are the same each time,
 * so a picture changes with the page only.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { openBrowser, View } from './browser.ts';
import { playScene } from './scene.ts';
import { SceneClock } from './scene-clock.ts';
import { World } from './world.ts';

const FOLDER = new URL('../../docs/images/inspector/', import.meta.url);
const SIZE = { width: 1280, height: 800 };
const QUALITY = 74;

interface Picture {
  readonly name: string;
  readonly hash: string;
  readonly heading: string;
  /** A text that is there when the page is. */
  readonly shows: string | RegExp;
  /** What to do before. */
  readonly act?: (view: View) => Promise<unknown>;
}

const openRow = (text: string) => (view: View) => view.row(text).getByRole('link').first().click();

const BIG = `{
  "specversion": "1.0", "id": "parcel-119", "source": "/scales",
  "type": "big",
  "data": { "weightKg": 119 }
}`;

const PICTURES: readonly Picture[] = [
  { name: 'overview', hash: '/', heading: 'Overview', shows: 'Needs attention' },
  {
    name: 'messages',
    hash: '/messages?topic=orders',
    heading: 'Messages',
    shows: 'order-7',
    act: openRow('dead-lettered'),
  },
  { name: 'queues', hash: '/queues', heading: 'Queues', shows: 'orders → archive' },
  { name: 'dead-letter', hash: '/dead-letters', heading: 'Dead letters', shows: 'order-6900', act: openRow('4O') },
  {
    name: 'subscriptions',
    hash: '/subscriptions',
    heading: 'Subscriptions',
    shows: 'event.type == "big"',
    act: async (view) => {
      await view.page.getByLabel('Topic').selectOption('pubsub / parcels');
      await view.page.getByLabel(/^Event/).fill(BIG);
      await view.button('Try it').click();
      await view.shows('Group shop →');
    },
  },
  { name: 'jobs', hash: '/jobs', heading: 'Jobs', shows: 'remind-7003' },
  { name: 'job', hash: '/jobs/report', heading: 'report', shows: 'Next runs' },
  { name: 'workflows', hash: '/workflows', heading: 'Workflows', shows: 'pack-7001' },
  {
    name: 'workflow',
    hash: '/workflows/order-7003',
    heading: 'order-7003',
    shows: 'chargeCard',
  },
  {
    name: 'workflow-step',
    hash: '/workflows/order-7001',
    heading: 'order-7001',
    shows: 'chargeCard',
    act: openRow('chargeCard'),
  },
  { name: 'actor', hash: '/actors/Basket/dora', heading: 'dora', shows: 'quince', act: openRow('expire') },
  { name: 'stores', hash: '/stores', heading: 'Stores', shows: 'holds 2 locks' },
  { name: 'state', hash: '/stores/carts', heading: 'carts', shows: 'prices/A-7001', act: openRow('cart/7002') },
  { name: 'calls', hash: '/calls', heading: 'Calls', shows: 'carrier' },
  { name: 'hosts', hash: '/hosts', heading: 'Hosts', shows: 'billing' },
  { name: 'settings', hash: '/settings', heading: 'Settings', shows: 'app-channel' },
];

/** Playwright writes no WebP, which is a third of the size. */
async function save(page: Page, name: string): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  const bytes = Buffer.from(data, 'base64');
  await writeFile(new URL(`${name}.webp`, FOLDER), bytes);
  return bytes.length;
}

const clock = new SceneClock();
clock.takeOver();
const directory = '/tmp/insidecar-screenshots';
await rm(directory, { recursive: true, force: true });
const world = await World.open({ clock, directory, inspect: { traceUrl: 'https://traces.example/{traceId}' } });
await playScene(world, clock);
await mkdir(FOLDER, { recursive: true });
const browser = await openBrowser();
let total = 0;
for (const colorScheme of ['light', 'dark'] as const) {
  const context = await browser.newContext({ viewport: SIZE, colorScheme, reducedMotion: 'reduce', timezoneId: 'UTC' });
  await context.clock.setFixedTime(clock.now());
  const page = await context.newPage();
  const view = new View(page, world.url);
  await page.goto(world.url);
  for (const { name, hash, heading, shows, act } of PICTURES) {
    await view.go(hash, heading);
    await view.shows(shows, page.locator('main'));
    await act?.(view);
    await page.mouse.move(0, 0);
    // What was asked for by what was opened has come, and its colours have changed.
    await page.waitForTimeout(500);
    await page.getByText('Loading…').waitFor({ state: 'detached' });
    total += await save(page, `${name}-${colorScheme}`);
  }
  await context.close();
}
process.stdout.write(`${PICTURES.length * 2} pictures, ${(total / 1000).toFixed(0)} kB\n`);
await browser.close();
await world[Symbol.asyncDispose]();
