/** How people get around: with the keyboard only, by links, in the theme that they like. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hasChromium } from '../support/servers.ts';
import { until, type View, Viewing } from './browser.ts';
import { World } from './world.ts';

/** What has the focus: its text or its label. */
const FOCUSED = `(() => {
  const { activeElement: at } = document;
  return at.getAttribute('aria-label') ?? at.innerText.trim() ?? at.tagName;
})()`;

describe.skipIf(!hasChromium())('browsing', () => {
  const viewing = new Viewing();
  let world: World;
  let view: View;
  beforeAll(async () => {
    world = await World.open();
    await world.fill();
    view = await viewing.open(world.url, { isKept: true });
  });
  afterAll(() => world[Symbol.asyncDispose]());
  beforeEach(async () => {
    await view.go('/', 'Overview');
    await view.page.reload();
    await view.heads('Overview');
  });

  const focused = (): Promise<string> => view.page.evaluate<string>(FOCUSED);
  const press = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await view.page.keyboard.press(key);
  };

  describe('with the keyboard', () => {
    test('the first Tab offers to skip the navigation', async () => {
      await press('Tab');
      expect(await focused()).toBe('Skip to content');
      await press('Enter');
      expect(await focused()).toBe('Overview');
      await press('Tab');
      // From here on it goes through the content, in the order in which it is read.
      expect(await view.page.evaluate('document.querySelector("main").contains(document.activeElement)')).toBe(true);
    });

    test('Tab reaches all of the top bar and the navigation, in this order', async () => {
      const reached: string[] = [];
      for (let tabs = 0; tabs < 20; tabs++) {
        await press('Tab');
        reached.push((await focused()).replaceAll('\n', ' '));
      }
      const order = ['insidecar: overview', 'Application', /^Search/, /live/, /^Theme/, 'Keyboard help', 'Overview'];
      const places = order.map((name) => reached.findIndex((text) => text.search(name) >= 0));
      expect(places.every((place) => place >= 0)).toBe(true);
      expect(places).toEqual([...places].sort((a, b) => a - b));
      expect(reached).toContainEqual(expect.stringMatching(/^Settings/));
    });

    test.each([
      ['m', 'Messages'],
      ['q', 'Queues'],
      ['d', 'Dead letters'],
      ['s', 'Subscriptions'],
      ['j', 'Jobs'],
      ['w', 'Workflows'],
      ['a', 'Actors'],
      ['r', 'Stores'],
      ['c', 'Calls'],
      ['h', 'Hosts'],
      ['t', 'Settings'],
    ])('g %s goes to %s, and the heading gets the focus', async (letter, heading) => {
      await press('g', letter);
      await view.heads(heading);
      await until(focused).toBe(heading);
    });

    test('/ searches; Escape leaves the field', async () => {
      await press('/');
      await view.page.keyboard.type('checkout-');
      await press('Enter');
      await view.heads('Search');
      await view.shows('checkout-2', view.page.locator('main'));
      await press('/');
      // What is typed into a field is no command.
      await view.page.keyboard.type('gm?');
      await press('Escape');
      expect(await view.page.evaluate('document.activeElement === document.body')).toBe(true);
      await view.heads('Search');
      expect(await view.dialog.count()).toBe(0);
    });

    test('j and k move over the rows, Enter opens one, Escape closes it again', async () => {
      await press('g', 'd');
      await view.row('order-3').waitFor();
      const rows = await view.page.evaluate<string[]>(
        '[...document.querySelectorAll("a[data-row]")].map((a) => a.dataset.row)',
      );
      const row = (): Promise<string> => view.page.evaluate<string>('document.activeElement.dataset.row');
      await press('j');
      expect(await row()).toBe(rows[0]);
      await press('j', 'j', 'k');
      expect(await row()).toBe(rows[1]);
      await press('Enter');
      const panel = view.page.locator('.drawer');
      await panel.getByRole('heading').first().waitFor();
      const opened = await panel.getByRole('heading').first().textContent();
      await press('j');
      await until(() => panel.getByRole('heading').first().textContent()).not.toBe(opened);
      await press('Escape');
      await panel.waitFor({ state: 'detached' });
      await until(row).toBe(rows[2]);
    });

    test('. leads to the actions; a dialog keeps the focus, and gives it back', async () => {
      await press('g', 'j');
      await view.heads('Jobs');
      await view.row('report').waitFor();
      await press('j', 'Enter');
      await view.page.locator('main .actions').waitFor();
      await press('.');
      expect(await focused()).toBe('Run now');
      await press('Tab', 'Tab');
      expect(await focused()).toBe('Delete…');
      await press('Enter');
      await view.dialog.waitFor();
      const inDialog = 'document.querySelector("dialog").contains(document.activeElement)';
      for (let tabs = 0; tabs < 4; tabs++) {
        // The browser's own controls are between the last and the first.
        expect(await view.page.evaluate(`${inDialog} || document.activeElement === document.body`)).toBe(true);
        await press('Tab');
      }
      await press('Escape');
      await view.dialog.waitFor({ state: 'detached' });
      await until(focused).toBe('Delete…');
    });

    test('? tells all keys, and Escape closes that', async () => {
      await press('?');
      await view.shows('next and previous row', view.dialog);
      await press('Escape');
      await view.dialog.waitFor({ state: 'detached' });
      await press('p');
      await view.shows('paused');
      await press('p');
      await view.shows('live', view.page.locator('header.top'));
    });
  });

  describe('links', () => {
    test('filters are in the address: it can be reloaded, and the way back works', async () => {
      await view.go('/messages', 'Messages');
      await view.row('order-1').waitFor();
      await view.page.getByLabel('Outcome').selectOption('deadLettered');
      await view.row('order-1').waitFor({ state: 'detached' });
      await view.row('order-3').waitFor();
      expect(view.hash).toBe('#/messages?outcome=deadLettered');
      await view.page.reload();
      await view.row('order-3').waitFor();
      expect(await view.page.getByLabel('Outcome').inputValue()).toBe('deadLettered');
      expect(await view.row('order-1').count()).toBe(0);
      await view.page.getByLabel('Text').fill('order-4');
      await view.row('order-3').waitFor({ state: 'detached' });
      expect(view.hash).toBe('#/messages?outcome=deadLettered&text=order-4');
      await view.page.goBack();
      await view.row('order-1').waitFor();
      expect(view.hash).toBe('#/messages');
    });

    test('what is open is in the address, too', async () => {
      await view.go('/messages', 'Messages');
      await view.row('order-2').getByRole('link').first().click();
      await view.shows(/Why this route/i, view.page.locator('.drawer'));
      await view.page.reload();
      await view.shows('the bank does not answer', view.page.locator('.drawer'));
      await view.page.goBack();
      await view.page.locator('.drawer').waitFor({ state: 'detached' });
    });

    test('the other application is chosen, and stays', async () => {
      await view.page.getByLabel('Application').selectOption('billing');
      await view.go('/queues?app=billing', 'Queues');
      await view.row('invoices → billing').waitFor();
      await view.page.reload();
      await view.row('invoices → billing').waitFor();
      await press('g', 'm');
      await view.row('invoice-1').waitFor();
      expect(await view.row('order-1').count()).toBe(0);
      await view.page.getByLabel('Application').selectOption('shop');
      await view.row('order-1').waitFor();
    });

    test('the way back leads to the first application as well', async () => {
      await view.go('/queues', 'Queues');
      await view.row('orders → shop').waitFor();
      await view.page.getByLabel('Application').selectOption('billing');
      await view.row('invoices → billing').waitFor();
      await view.page.goBack();
      await view.row('orders → shop').waitFor();
      expect(await view.page.getByLabel('Application').inputValue()).toBe('shop');
    });

    test('a question about one application is not asked in another', async () => {
      await view.go('/jobs?app=billing', 'Jobs');
      await view.go('/queues/pubsub/orders/archive?app=shop', 'orders → archive');
      await view.button('Remove group…').click();
      await view.dialog.waitFor();
      await view.page.goBack();
      await view.heads('Jobs');
      await view.dialog.waitFor({ state: 'detached' });
      await view.go('/queues?app=shop', 'Queues');
      await view.row('orders → archive').waitFor();
    });

    test('secrets are not shown', async () => {
      await view.go('/jobs/reminder', 'reminder');
      await view.shows('buy milk');
      expect(await view.page.content()).not.toContain('swordfish');
    });
  });

  describe('themes', () => {
    const background = (shown: View): Promise<string> =>
      shown.page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    const brightness = async (shown: View): Promise<number> =>
      ((await background(shown)).match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;

    test('the system decides, until somebody chooses; the choice is kept', async () => {
      const dark = await viewing.open(world.url, { colorScheme: 'dark' });
      await dark.heads('Overview');
      expect(await brightness(dark)).toBeLessThan(64);
      await dark.button(/^Theme: auto/).click();
      await dark.button(/^Theme: light/).waitFor();
      await until(() => brightness(dark)).toBeGreaterThan(192);
      await dark.page.reload();
      await dark.heads('Overview');
      await until(() => brightness(dark)).toBeGreaterThan(192);
      await dark.button(/^Theme: light/).click();
      await until(() => brightness(dark)).toBeLessThan(64);
      await dark.page.emulateMedia({ colorScheme: 'light' });
      expect(await brightness(dark)).toBeLessThan(64);
      await dark.button(/^Theme: dark/).click();
      await until(() => brightness(dark)).toBeGreaterThan(192);
    });

    test('nothing moves for those who do not want it', async () => {
      const moving = `[...document.querySelectorAll('*')].filter((one) => {
        const { transitionDuration, animationDuration } = getComputedStyle(one);
        return [transitionDuration, animationDuration].some((text) => text.split(',').some((part) => parseFloat(part) > 0.01));
      }).map(({ className }) => String(className))`;
      const still = await viewing.open(world.url, { reducedMotion: 'reduce' });
      await still.heads('Overview');
      await still.button('Keyboard help').click();
      await still.dialog.waitFor();
      expect(await still.page.evaluate(moving)).toEqual([]);
    });
  });
});
