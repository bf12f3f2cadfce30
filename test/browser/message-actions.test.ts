/** What can be done to messages and queues from the page, and what it does to the sidecar. */
import type { Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { QueueInfo } from '../../src/index.ts';
import { hasChromium } from '../support/servers.ts';
import { until, type View, Viewing } from './browser.ts';
import { FAILED, World } from './world.ts';

describe.skipIf(!hasChromium())('messages', () => {
  const viewing = new Viewing();
  let world: World;
  let view: View;
  beforeAll(async () => {
    world = await World.open();
    view = await viewing.open(world.url, { isKept: true });
  });
  afterAll(() => world[Symbol.asyncDispose]());
  beforeEach(async () => {
    await view.go('/', 'Overview');
    await view.page.reload();
  });

  async function queue(topic: string, group = 'shop'): Promise<QueueInfo | undefined> {
    return (await world.shop.pubsub.queues.list({ topic })).find((one) => one.group === group);
  }

  async function goToFailed(...ids: readonly number[]): Promise<void> {
    await world.fail(...ids);
    await view.go('/dead-letters', 'Dead letters');
    await view.row(`order-${ids[0]}`).waitFor();
  }

  /** Holds a request back; then the server answers it, or somebody else. Answers how to let it go. */
  async function hold(url: RegExp, answer?: Parameters<Route['fulfill']>[0]): Promise<() => Promise<void>> {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await view.page.route(url, async (route) => {
      await held;
      await (answer === undefined ? route.continue() : route.fulfill(answer));
    });
    return () => {
      release();
      return view.page.unrouteAll({ behavior: 'wait' });
    };
  }

  const select = (id: number): Promise<void> => view.row(`order-${id}`).getByRole('checkbox').check();

  test('a dead letter is redelivered to the group where it failed', async () => {
    await goToFailed(10, 11);
    await select(10);
    await view.button('Redeliver to group').click();
    await view.shows('1 message redelivered');
    await until(() => world.paid).toEqual([10]);
    await view.row('order-10').waitFor({ state: 'detached' });
    expect(await world.failed()).toBe(1);
    await world.shop.pubsub.queues.discard(FAILED, 'all');
  });

  test('data is edited, and the message redelivered', async () => {
    await world.order({ id: 20, price: '2O' });
    await world.until(async () => (await world.failed()) === 1);
    await view.go('/dead-letters', 'Dead letters');
    await view.row('order-20').getByRole('link').first().click();
    await view.shows('the price is "2O"', view.page.locator('.drawer'));
    await view.button('Edit and redeliver…').click();
    const data = view.dialog.getByRole('textbox');
    expect(JSON.parse(await data.inputValue())).toEqual({ id: 20, price: '2O' });
    await data.fill('{ "id": 20, "price": ');
    await view.button('Redeliver', view.dialog).click();
    await view.shows(/JSON/, view.dialog.getByRole('alert'));
    await data.fill('{ "id": 20, "price": 20 }');
    await view.button('Redeliver', view.dialog).click();
    await view.shows('1 message redelivered');
    await until(() => world.paid).toContain(20);
    expect(await world.failed()).toBe(0);
  });

  test('what was edited stays, and is not called redelivered, when the message is gone meanwhile', async () => {
    await goToFailed(25);
    await view.row('order-25').getByRole('link').first().click();
    await view.button('Edit and redeliver…').click();
    const data = view.dialog.getByRole('textbox');
    await data.fill('{ "id": 25, "price": 26 }');
    // The panel asks for its message now and then.
    view.expects = /status of 404/;
    await world.shop.pubsub.queues.discard(FAILED, 'all');
    await view.button('Redeliver', view.dialog).click();
    await view.shows('the message is gone', view.dialog.getByRole('alert'));
    expect(await data.inputValue()).toBe('{ "id": 25, "price": 26 }');
    await view.button('Cancel', view.dialog).click();
  });

  test('a dead letter is discarded, but not without a question', async () => {
    await goToFailed(30);
    await select(30);
    await view.button('Discard…').click();
    await view.button('Cancel', view.dialog).click();
    expect(await world.failed()).toBe(1);
    await view.button('Discard…').click();
    await view.button('Discard', view.dialog).click();
    await view.shows('1 message discarded');
    await view.shows('There are no dead letters.');
    expect(await world.failed()).toBe(0);
    expect(world.paid).not.toContain(30);
  });

  test('all that match are redelivered: also those that are not on the page', async () => {
    const ids = Array.from({ length: 110 }, (_, at) => 1000 + at);
    await goToFailed(...ids);
    await view.page.getByLabel('Select all rows').check();
    await view.button('Select all that match').click();
    await view.button('Redeliver to group').click();
    await view.button('Redeliver', view.dialog).click();
    await view.shows('110 messages redelivered');
    await until(() => ids.every((id) => world.paid.includes(id))).toBe(true);
    expect(await world.failed()).toBe(0);
  });

  test('nothing is done to all that match while it is not known what matches', async () => {
    const ids = Array.from({ length: 110 }, (_, at) => 2000 + at);
    await goToFailed(...ids);
    const answer = await hold(/dead-letters\?.*topic=/);
    await view.page.getByLabel('Kept in').selectOption(FAILED.topic);
    await view.page.getByLabel('Select all rows').check();
    await view.button('Select all that match').click();
    await view.button('Discard…').click({ force: true });
    await view.shows('Select messages first');
    await answer();
    expect(await world.failed()).toBe(110);
    await world.shop.pubsub.queues.discard(FAILED, 'all');
  });

  test('nothing is done to what was selected while a filter loaded that leaves it out', async () => {
    await goToFailed(2500, 2501);
    const answer = await hold(/dead-letters\?.*reason=/);
    await view.page.getByLabel('Reason has').fill('nobody said this');
    await view.page.locator('.stale').waitFor();
    await select(2500);
    await answer();
    await view.shows('No dead letter matches the filters.');
    await view.button('Discard…').click({ force: true });
    await view.shows('Select messages first');
    expect(await world.failed()).toBe(2);
    await world.shop.pubsub.queues.discard(FAILED, 'all');
  });

  test('all that match are those that the list shows: the spaces of a filter count', async () => {
    await world.fail(...Array.from({ length: 101 }, (_, at) => 3000 + at));
    await view.go('/dead-letters?reason=%20', 'Dead letters');
    await view.page.getByLabel('Select all rows').check();
    await view.button('Select all that match').click();
    await view.button('Discard…').click();
    const sent = view.page.waitForRequest(/queues\/discard/);
    await view.button('Discard', view.dialog).click();
    expect((await sent).postDataJSON()).toMatchObject({ selection: { reason: ' ' } });
    await view.shows('101 messages discarded');
  });

  test('what is selected is forgotten in another list of the queue, where it is not seen', async () => {
    const orders = { ...FAILED, topic: 'orders' };
    await world.shop.pubsub.queues.pause(orders);
    await world.order({ id: 70, price: 7 });
    await view.go('/queues/pubsub/orders/shop', 'orders → shop');
    await select(70);
    await view.page.getByRole('link', { name: /^Delayed/ }).click();
    await view.shows('None.');
    await view.button('Discard…').click({ force: true });
    await view.shows('Select messages first');
    await world.shop.pubsub.queues.resume(orders);
    await until(() => world.paid).toContain(70);
  });

  test('text with line ends that a form would change is not published again', async () => {
    const options = { contentType: 'text/plain', cloudEvent: { id: 'note-70' } };
    await world.shop.pubsub.publish('notes', 'notes', 'PID|1\rPV1|2', options);
    await view.go('/messages', 'Messages');
    await view.row('note-70').getByRole('link').first().click();
    await view.button('Publish again…').click({ force: true });
    await view.shows('line ends (CR) would be lost');
  });

  test('a queue is paused, and resumed', async () => {
    await view.go('/queues/pubsub/orders/shop', 'orders → shop');
    await view.button('Pause', view.page.locator('main')).click();
    await view.button('Resume', view.page.locator('main')).waitFor();
    expect((await queue('orders'))?.isPaused).toBe(true);
    await world.order({ id: 40, price: 4 });
    await view.page.reload();
    await view.shows('order-40');
    await view.button('Resume', view.page.locator('main')).click();
    await until(() => world.paid).toContain(40);
    expect((await queue('orders'))?.isPaused).toBe(false);
  });

  test('a group is added, purged and removed', async () => {
    await view.go('/queues', 'Queues');
    await view.button('Add group…').click();
    await view.field('Topic').fill('orders');
    await view.field('Group').fill('audit');
    await view.button('Add', view.dialog).click();
    await view.heads('orders → audit');
    await world.order({ id: 50, price: 5 });
    await view.page.reload();
    await view.shows('order-50');
    await view.button('Purge…').click();
    await view.dialog.getByRole('textbox').fill('order');
    await view.button('Purge', view.dialog).click();
    await view.shows('That is not “orders”.');
    await view.dialog.getByRole('textbox').fill('orders');
    await view.button('Purge', view.dialog).click();
    await view.shows('1 message removed');
    expect(await queue('orders', 'audit')).toMatchObject({ ready: 0 });
    await view.button('Remove group…').click();
    await view.button('Remove', view.dialog).click();
    await view.heads('Queues');
    expect(await queue('orders', 'audit')).toBeUndefined();
  });

  test('what fails after its dialog was closed is told all the same', async () => {
    view.expects = /status of 409/;
    const body = JSON.stringify({ errorCode: 'ERR_TEST', message: 'it is being removed' });
    const answer = await hold(/queues\/add-group/, { status: 409, contentType: 'application/json', body });
    await view.go('/queues', 'Queues');
    await view.button('Add group…').click();
    await view.field('Topic').fill('orders');
    await view.field('Group').fill('late');
    await view.button('Add', view.dialog).click();
    await view.page.keyboard.press('Escape');
    await view.dialog.waitFor({ state: 'detached' });
    await answer();
    await view.shows('Add a group: it is being removed');
  });

  test('an event is tried against the rules of a topic', async () => {
    await view.go('/subscriptions', 'Subscriptions');
    await view.page.getByLabel('Topic').selectOption('pubsub / parcels');
    const tried = view.page.getByLabel(/^Event/);
    await tried.fill('{ "specversion": "1.0", "id": "1", "source": "me", "type": "big", "data": {} }');
    await view.button('Try it').click();
    const verdict = view.page.locator('main [role=status]');
    await view.shows('Group shop → /big', verdict);
    await tried.fill('{ "weight": 1 }');
    await view.button('Try it').click();
    await view.shows('Group shop → /parcels', verdict);
  });

  test('a message is published, comes by at once, and is published again', async () => {
    await view.go('/messages', 'Messages');
    await view.button('Publish…').click();
    await view.field('Topic').fill('orders');
    await view.field('Data').fill('{ "id": 60, "price": 6, "note": "six" }');
    await view.button('Publish', view.dialog).click();
    await view.shows('Published to orders');
    await until(() => world.paid.filter((id) => id === 60)).toHaveLength(1);
    await view.go('/messages?text=%22six%22', 'Messages');
    await view.row('delivered').getByRole('link').first().click();
    await view.button('Publish again…').click();
    expect(JSON.parse(await view.field('Data').inputValue())).toEqual({ id: 60, price: 6, note: 'six' });
    await view.button('Publish', view.dialog).click();
    await until(() => world.paid.filter((id) => id === 60)).toHaveLength(2);
  });

  test('the topic of a dialog stays what it was, whatever comes by meanwhile', async () => {
    await view.go('/messages', 'Messages');
    await world.order({ id: 65, price: 6 });
    await view.row('order-65').waitFor();
    await view.button('Publish…').click();
    await view.field('Data').fill('{ "id": 66, "price": 6 }');
    await world.shop.pubsub.publish('notes', 'notes', 'a note', { cloudEvent: { id: 'note-65' } });
    await view.row('note-65').waitFor();
    expect(await view.field('Topic').inputValue()).toBe('orders');
    expect(await view.field('Component').inputValue()).toBe('pubsub');
    await view.button('Cancel', view.dialog).click();
  });

  test('what has changed is logged, with who did it', async () => {
    await until(() => world.logger.at('info').map(({ message }) => message)).toContain('inspector: write');
  });
});
