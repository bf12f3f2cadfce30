/** What can be done to jobs and workflows from the page, and what it does to the sidecar. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hasChromium } from '../support/servers.ts';
import { Basket } from './actors.ts';
import { until, type View, Viewing } from './browser.ts';
import { approval, checkout } from './workflows.ts';
import { World } from './world.ts';

describe.skipIf(!hasChromium())('work', () => {
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

  const statusOf = async (id: string): Promise<string | undefined> => (await world.shop.workflows.get(id))?.status;

  async function openApproval(id: string): Promise<void> {
    await world.shop.workflows.start(approval, { amount: 1 }, { instanceId: id });
    await view.go(`/workflows/${id}`, id);
    await view.shows('running', view.page.locator('main'));
  }

  async function failedCheckout(instanceId: string): Promise<void> {
    await world.shop.workflows.start(checkout, { order: 1, card: 'stolen' }, { instanceId });
    await world.shop.workflows.run(instanceId).ended();
  }

  test('a job is scheduled', async () => {
    view.expects = /status of 400/;
    await view.go('/jobs', 'Jobs');
    await view.button('Schedule…').click();
    await view.field('Name').fill('tidy');
    await view.field('Schedule').fill('every day');
    await view.field('Data').fill('{ "room": 3 }');
    await view.button('Schedule', view.dialog).click();
    await view.shows(/schedule/, view.dialog.getByRole('alert'));
    await view.field('Schedule').fill('@every 2h');
    await view.button('Schedule', view.dialog).click();
    await view.heads('tidy');
    expect(await world.shop.jobs.get('tidy')).toMatchObject({ schedule: '@every 2h', data: { room: 3 } });
  });

  test('a job runs now, and its outcome is shown', async () => {
    await world.shop.jobs.schedule('report', { schedule: '@every 3h', retry: { maxRetries: 0 } });
    await view.go('/jobs/report', 'report');
    await view.button('Run now').click();
    await until(() => world.runs).toEqual(['report']);
    await view.shows(/the printer is on fire/, view.page.locator('main'));
  });

  test('a job is paused, resumed and deleted', async () => {
    await world.shop.jobs.schedule('sweep', { schedule: '@every 3h' });
    await view.go('/jobs/sweep', 'sweep');
    await view.button('Pause', view.page.locator('main')).click();
    await view.button('Resume', view.page.locator('main')).waitFor();
    expect(await world.shop.jobs.get('sweep')).toMatchObject({ isPaused: true });
    await view.button('Resume', view.page.locator('main')).click();
    await view.button('Pause', view.page.locator('main')).waitFor();
    expect(await world.shop.jobs.get('sweep')).toMatchObject({ isPaused: false });
    await view.button('Delete…').click();
    await view.button('Delete', view.dialog).click();
    await view.heads('Jobs');
    expect(await world.shop.jobs.get('sweep')).toBeUndefined();
  });

  test('a reminder of an actor runs now, and is deleted', async () => {
    const { actors } = world.shop;
    await actors.get(Basket, 'bob').put('pear');
    await view.go('/actors/Basket/bob', 'bob');
    await view.shows('"pear"', view.page.locator('main'));
    await view.page.getByRole('link', { name: 'expire' }).click();
    await view.button('Run now').click();
    await until(() => actors.state('Basket', 'bob')).toEqual(
      new Map([['state', { items: [], password: 'swordfish' }]]),
    );
    await view.button('Delete…').click();
    await view.button('Delete', view.dialog).click();
    await view.shows('It has no reminders.');
    expect(await actors.reminders.get('Basket', 'bob', 'expire')).toBeUndefined();
  });

  test('a workflow is started', async () => {
    await view.go('/workflows', 'Workflows');
    await view.button('Start…').click();
    await view.field('Workflow').fill('checkout');
    await view.field('Input').fill('{ "order": 100, "card": "good" }');
    await view.field('Instance ID').fill('made-here');
    await view.button('Start', view.dialog).click();
    await view.heads('made-here');
    await view.shows('completed', view.page.locator('main'));
    expect(await world.shop.workflows.get('made-here')).toMatchObject({ output: 'parcel of 100' });
  });

  test('a workflow is paused and resumed, and gets an event', async () => {
    await openApproval('approved');
    await view.button('Pause', view.page.locator('main')).click();
    await view.shows('suspended');
    expect(await statusOf('approved')).toBe('SUSPENDED');
    await view.button('Resume', view.page.locator('main')).click();
    await until(() => statusOf('approved')).toBe('RUNNING');
    await view.button('Raise event…').click();
    await view.field('Event').fill('approved');
    await view.field('Data').fill('"yes"');
    await view.button('Raise', view.dialog).click();
    await view.shows('completed', view.page.locator('main'));
    expect(await world.shop.workflows.get('approved')).toMatchObject({ output: 'yes' });
  });

  test('a workflow is terminated and purged', async () => {
    await openApproval('given-up');
    await view.button('Terminate…').click();
    await view.field('Output').fill('{ "reason": "no time" }');
    await view.button('Terminate', view.dialog).click();
    await view.shows('terminated', view.page.locator('main'));
    expect(await world.shop.workflows.get('given-up')).toMatchObject({ output: { reason: 'no time' } });
    await view.button('Purge…').click();
    await view.button('Purge', view.dialog).click();
    await view.heads('Workflows');
    expect(await statusOf('given-up')).toBeUndefined();
  });

  test('a failed workflow runs again from the start, with another input', async () => {
    await failedCheckout('declined');
    await view.go('/workflows/declined', 'declined');
    await view.button('Run again…').click();
    await view.field('From').selectOption('start');
    await view.field('Input').fill('{ "order": 200, "card": "good" }');
    await view.field('New ID').fill('another-card');
    await view.button('Run again', view.dialog).click();
    await view.heads('another-card');
    await view.shows('completed', view.page.locator('main'));
    expect(await world.shop.workflows.get('another-card')).toMatchObject({ rerunOf: 'declined' });
  });

  test('many workflows are terminated, run again and purged', async () => {
    const { workflows } = world.shop;
    for (const id of ['many-1', 'many-2']) await workflows.start(approval, { amount: 1 }, { instanceId: id });
    await failedCheckout('many-3');
    await view.go('/workflows?prefix=many-', 'Workflows');
    const check = (id: string): Promise<void> => view.row(id).getByRole('checkbox').check();
    await check('many-1');
    await check('many-2');
    await view.button('Terminate…').click();
    await view.button('Terminate', view.dialog).click();
    await view.shows('2 workflows terminated');
    await until(() => Promise.all(['many-1', 'many-2'].map(statusOf))).toEqual(['TERMINATED', 'TERMINATED']);
    await check('many-3');
    await view.button('Run again from failure…').click();
    await view.button('Run again', view.dialog).click();
    await view.shows('1 workflow started again');
    await view.page.getByLabel('Select all rows').check();
    await view.button('Purge…').click();
    await view.button('Purge', view.dialog).click();
    await view.shows('3 workflows purged');
    await view.shows('No workflow matches the filters.');
  });
});
