/** What Dapr's own tests of concurrency limits and retention show. */
import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, type Sidecar, type WorkflowRetention } from '../../../src/index.ts';
import { workflowWorld } from '../../support/workflow-world.ts';

const HOUR_MS = 3_600_000;

describe('limits', () => {
  test.each([1, 2, 7])('at most %i activities at a time, over all instances, and all of them run', async (limit) => {
    let running = 0;
    let most = 0;
    let done = 0;
    const busy = defineActivity('busy', async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return ++done;
    });
    await using world = await workflowWorld(
      (sidecar) => {
        sidecar.workflows.register(
          busy,
          defineWorkflow('many', (ctx) => Promise.all(Array.from({ length: 10 }, () => ctx.callActivity(busy)))),
        );
      },
      { workflows: { maxConcurrentActivities: limit } },
    );
    const ids = ['a', 'b', 'c', 'd'];
    await Promise.all(ids.map((instanceId) => world.sidecar.workflows.start('many', undefined, { instanceId })));
    for (const id of ids) expect((await world.settle(id)).status).toBe('COMPLETED');
    expect([most, done]).toEqual([limit, 40]);
  });

  test('one turn at a time: a thousand instances that wait do not hold each other up', async () => {
    await using world = await workflowWorld(
      (sidecar) => {
        sidecar.workflows.register(
          defineWorkflow('waiting', (ctx) => ctx.waitForEvent('go')),
          defineWorkflow('plain', () => 'done'),
        );
      },
      { workflows: { maxConcurrentWorkflows: 1 } },
    );
    const waiting = Array.from({ length: 1_000 }, () => world.sidecar.workflows.start('waiting'));
    await Promise.all(waiting);
    expect((await world.run('plain')).output).toBe('done');
  });

  test('instances that had to leave memory are replayed when something comes for them', async () => {
    let runs = 0;
    await using world = await workflowWorld(
      (sidecar) => {
        sidecar.workflows.register(
          defineWorkflow('waiting', async (ctx) => {
            runs++;
            return [await ctx.waitForEvent('a'), await ctx.waitForEvent('b')];
          }),
        );
      },
      { workflows: { maxIdleInstances: 2 } },
    );
    const ids = Array.from({ length: 20 }, (_, index) => `i${index}`);
    for (const id of ids) await world.run('waiting', undefined, id);
    for (const id of ids) await world.raise('a', `${id}a`, id);
    for (const id of ids) expect((await world.raise('b', `${id}b`, id)).output).toEqual([`${id}a`, `${id}b`]);
    expect(runs).toBeGreaterThan(20);
  });
});

describe('retention', () => {
  const register = (sidecar: Sidecar): void => {
    sidecar.workflows.register(
      defineWorkflow('completing', () => 'done'),
      defineWorkflow('failing', () => {
        throw new Error('no');
      }),
      defineWorkflow('waiting', (ctx) => ctx.waitForEvent('go')),
    );
  };
  const NAMES = { completed: 'completing', failed: 'failing', terminated: 'waiting' } as const;

  test.each<[retention: WorkflowRetention, hours: Readonly<Record<keyof typeof NAMES, number>>]>([
    [{ anyTerminal: HOUR_MS }, { completed: 1, failed: 1, terminated: 1 }],
    [{ completed: HOUR_MS }, { completed: 1, failed: 0, terminated: 0 }],
    [
      { anyTerminal: HOUR_MS, failed: 3 * HOUR_MS },
      { completed: 1, failed: 3, terminated: 1 },
    ],
    [
      { terminated: 2 * HOUR_MS, failed: HOUR_MS },
      { completed: 0, failed: 1, terminated: 2 },
    ],
  ])('%j: gone after so many hours', async (retention, hours) => {
    await using world = await workflowWorld(register, { workflows: { retention } });
    for (const [id, name] of Object.entries(NAMES)) await world.run(name, undefined, id);
    await world.sidecar.workflows.terminate('terminated');
    await world.clock.settled();
    await world.clock.advance('59m');
    for (let hour = 1; hour <= 4; hour++) {
      for (const [id, kept] of Object.entries(hours)) {
        const isGone = (await world.sidecar.workflows.get(id)) === undefined;
        expect([id, hour, isGone]).toEqual([id, hour, kept !== 0 && kept < hour]);
      }
      await world.clock.advance('1h');
    }
  });

  test('the longest retention keeps all: instances end, their activities run once, and no timer waits', async () => {
    const retention = { anyTerminal: Number.MAX_SAFE_INTEGER };
    await using world = await workflowWorld(
      (sidecar, { seen }) => {
        register(sidecar);
        const noted = defineActivity('noted', () => seen.push('noted'));
        sidecar.workflows.register(defineWorkflow('calling', (ctx) => ctx.callActivity(noted)));
      },
      { workflows: { retention } },
    );
    const before = world.clock.pendingTimers;
    expect((await world.run('calling')).status).toBe('COMPLETED');
    expect((await world.run('failing', undefined, 'two')).status).toBe('FAILED');
    expect([world.seen, world.clock.pendingTimers]).toEqual([['noted'], before]);
    await world.restart(undefined, '100000h');
    expect((await world.settle()).status).toBe('COMPLETED');
  });

  test('over a restart; nothing is left of what is gone', async () => {
    await using world = await workflowWorld(register, { workflows: { retention: { anyTerminal: HOUR_MS } } });
    const before = await world.size();
    await world.run('completing');
    await world.clock.advance('30m');
    await world.restart();
    expect((await world.settle()).status).toBe('COMPLETED');
    await world.clock.advance('31m');
    await world.clock.settled();
    expect(await world.sidecar.workflows.get('one')).toBeUndefined();
    expect(await world.size()).toBe(before);
  });

  test('an ID that is used again is kept for its own time', async () => {
    await using world = await workflowWorld(register, { workflows: { retention: { anyTerminal: HOUR_MS } } });
    await world.run('completing');
    await world.clock.advance('40m');
    await world.run('waiting');
    await world.clock.advance('3h');
    expect((await world.settle()).status).toBe('RUNNING');
    await world.raise('go', 1);
    await world.clock.advance('59m');
    expect((await world.settle()).status).toBe('COMPLETED');
    await world.clock.advance('2m');
    await world.clock.settled();
    expect(await world.sidecar.workflows.get('one')).toBeUndefined();
  });
});
