import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow } from '../../../../src/index.ts';
import { workflowWorld } from '../../../support/workflow-world.ts';

/** Milliseconds of the processor, not of the clock, since `before`: other tests run beside these. */
function cpuMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

describe('time grows with size, and no faster', () => {
  const GROWTH = 10;
  /** Ten times as much takes ten times as long; a square would be a hundred times. */
  const MOST = 25;

  async function timeOf(name: string, size: number): Promise<number> {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineActivity('one', (index: number) => index),
        defineWorkflow('fan-out', async (ctx, count: number) => {
          const all = await Promise.all(
            Array.from({ length: count }, (_, index) => ctx.callActivity<number>('one', index)),
          );
          return all.length;
        }),
        defineWorkflow('long', async (ctx, count: number) => {
          for (let index = 0; index < count; index++) await ctx.callActivity('one', index);
          return count;
        }),
      ),
    );
    const before = process.cpuUsage();
    await world.sidecar.workflows.start(name, size, { instanceId: 'one' });
    const { output } = await world.sidecar.workflows.run('one').ended();
    expect(output).toBe(size);
    return cpuMs(before);
  }

  /** The first run of a size also pays for a heap that grows and for code that is not compiled yet, twice as much on Node 24. */
  async function leastTimeOf(name: string, size: number): Promise<number> {
    return Math.min(await timeOf(name, size), await timeOf(name, size), await timeOf(name, size));
  }

  test.each(['fan-out', 'long'])(
    '%s of 10,000 events and more',
    async (name) => {
      await timeOf(name, 500);
      const small = await leastTimeOf(name, 1_000);
      const large = await leastTimeOf(name, 1_000 * GROWTH);
      expect(large / small).toBeLessThan(MOST);
    },
    180_000,
  );

  test('a history of 20,000 events is replayed within seconds', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineActivity('one', (index: number) => index),
        defineWorkflow('long', async (ctx) => {
          for (let index = 0; index < 10_000; index++) await ctx.callActivity('one', index);
          return ctx.waitForEvent('go');
        }),
      ),
    );
    await world.sidecar.workflows.start('long', undefined, { instanceId: 'one' });
    await expect.poll(async () => (await world.history()).length, { timeout: 120_000, interval: 1_000 }).toBe(20_001);
    await world.restart();
    const before = process.cpuUsage();
    expect((await world.raise('go', 'there')).output).toBe('there');
    expect(cpuMs(before)).toBeLessThan(8_000);
  }, 180_000);
});
