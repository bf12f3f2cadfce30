import { describe, expect, test } from 'vitest';
import { defineWorkflow, Sidecar } from '../../../src/index.ts';
import { KeptStore } from '../../support/kept-store.ts';
import { RecordingLogger } from '../../support/logger.ts';

const approval = defineWorkflow('approval', async (ctx, order: number) => {
  const by = await ctx.waitForEvent<string>('approved', { timeout: 300 }).catch(() => 'nobody');
  return `order ${order}: ${by}`;
});
const other = defineWorkflow('other', () => 1);

function sidecarOn(state: KeptStore): Sidecar {
  return new Sidecar({ appId: 'shop', state, logger: new RecordingLogger() });
}

/** Leaves an instance whose code is missing with an event that waits for it. */
async function leaveEvent(state: KeptStore): Promise<Sidecar> {
  const first = sidecarOn(state);
  first.workflows.register(approval);
  await first.start();
  await first.workflows.start(approval, 1, { instanceId: 'x' });
  await first.stop();
  const second = sidecarOn(state);
  second.workflows.register(other);
  await second.start();
  await second.workflows.raiseEvent('x', 'approved', 'Ada, for order 1');
  await second.workflows.terminate('x');
  return second;
}

async function startAgain({ workflows }: Sidecar): Promise<unknown> {
  await workflows.start(approval, 2, { instanceId: 'x', ifExists: 'replace' });
  return (await workflows.run('x').ended()).output;
}

describe('an event for an instance that was ended while its code was missing', () => {
  test.each([true, false])('is not for another one that gets its ID (purged: %s)', async (isPurged) => {
    await using sidecar = await leaveEvent(new KeptStore());
    if (isPurged) await sidecar.workflows.purge('x');
    sidecar.workflows.register(approval);
    expect(await startAgain(sidecar)).toBe('order 2: nobody');
  });

  test.each([true, false])('is not for one of the next process either (purged: %s)', async (isPurged) => {
    const state = new KeptStore();
    const before = await leaveEvent(state);
    if (isPurged) await before.workflows.purge('x');
    await before.stop();
    await using sidecar = sidecarOn(state);
    sidecar.workflows.register(approval);
    await sidecar.start();
    expect(await startAgain(sidecar)).toBe('order 2: nobody');
  });
});

test('the end of a parent does not end an instance that has got the ID of its child', async () => {
  const state = new KeptStore();
  await using sidecar = sidecarOn(state);
  const { workflows } = sidecar;
  const wait = defineWorkflow('wait', (ctx) => ctx.waitForEvent('go'));
  workflows.register(
    wait,
    defineWorkflow('parent', (ctx) =>
      ctx.callChild('wait', undefined, { instanceId: 'child' }).then(() => ctx.waitForEvent('go')),
    ),
  );
  await sidecar.start();
  await workflows.start('parent', undefined, { instanceId: 'parent' });
  await expect.poll(() => workflows.get('child')).toMatchObject({ status: 'RUNNING' });
  // The commit that ends the parent takes a while. Meanwhile its child ends, and another instance gets its ID.
  let go = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  let isHeld = false;
  state.interfere = async ({ put = [] }, commit) => {
    const isOfParent = put.some(({ key, value }) => key.includes('parent') && value.length > 0);
    if (isOfParent && !isHeld) {
      isHeld = true;
      await held;
    }
    return commit();
  };
  const terminated = workflows.terminate('parent');
  await expect.poll(() => isHeld).toBe(true);
  await workflows.raiseEvent('child', 'go', 1);
  await workflows.run('child').ended();
  await workflows.start(wait, undefined, { instanceId: 'child', ifExists: 'replace' });
  go();
  await terminated;
  await workflows.raiseEvent('child', 'go', 'to the other one');
  expect(await workflows.run('child').ended()).toMatchObject({ status: 'COMPLETED', output: 'to the other one' });
});
