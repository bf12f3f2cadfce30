import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, Sidecar } from '../../../../src/index.ts';
import { patientClock } from '../../../support/clock.ts';
import { KeptStore } from '../../../support/kept-store.ts';
import { RecordingLogger } from '../../../support/logger.ts';
import { workflowWorld } from '../../../support/workflow-world.ts';

describe('an instance that is read from the store', () => {
  test('has its timers, also while an activity of it runs', async () => {
    const store = new KeptStore();
    const clock = patientClock();
    const begin = async (): Promise<Sidecar> => {
      const sidecar = new Sidecar({ appId: 'shop', clock, state: store, logger: new RecordingLogger() });
      sidecar.workflows.register(
        defineActivity('hang', () => new Promise<never>(() => undefined)),
        defineWorkflow('flow', async (ctx) =>
          Promise.race([ctx.callActivity('hang'), ctx.sleep('1m').then(() => 'took too long')]),
        ),
      );
      await sidecar.start();
      return sidecar;
    };
    const stop = async (sidecar: Sidecar): Promise<void> => {
      const stopped = sidecar.stop();
      await clock.advance('11s');
      await stopped;
    };
    const first = await begin();
    await first.workflows.start('flow', undefined, { instanceId: 'one' });
    await stop(first);
    const second = await begin();
    await clock.advance('1m');
    expect(await second.workflows.get('one')).toMatchObject({ status: 'COMPLETED', output: 'took too long' });
    await stop(second);
  });

  test('hears of the end of its child, although it was let go while that was on its way', async () => {
    await using world = await workflowWorld(
      ({ workflows }) =>
        workflows.register(
          defineActivity('double', (value: number) => value * 2),
          defineWorkflow('child', async () => 'grown up'),
          defineWorkflow('flow', async (ctx) => {
            void ctx.callActivity('double', 0);
            return ctx.callChild('child');
          }),
        ),
      { workflows: { maxIdleInstances: 0 } },
    );
    await world.run('flow');
    expect(await world.pass('1s')).toMatchObject({ status: 'COMPLETED', output: 'grown up' });
  });

  test('has its timers when its last turn came through although the store said otherwise', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register('flow', async (ctx) => {
        await ctx.waitForEvent('go');
        await ctx.sleep('1m');
        return 'awake';
      }),
    );
    await world.run('flow');
    let isFirst = true;
    world.store.interfere = async (batch, commit) => {
      const version = await commit();
      if (!isFirst || batch.put?.some(({ key }) => key.startsWith('workflows!')) !== true) return version;
      isFirst = false;
      throw new Error('connection lost after the commit');
    };
    await expect(world.sidecar.workflows.raiseEvent('one', 'go')).rejects.toThrow();
    expect((await world.pass('62s')).output).toBe('awake');
  });
});

test('a child takes the ID of one that is over, although an activity of that still runs', async () => {
  const runs: string[] = [];
  await using world = await workflowWorld(({ workflows }) =>
    workflows.register(
      defineActivity('hang', () => new Promise<never>(() => undefined)),
      defineWorkflow('child', async (ctx, round: number) => {
        runs.push(`child ${round}`);
        if (round === 1) void ctx.callActivity('hang');
        return round;
      }),
      defineWorkflow('flow', async (ctx) => [
        await ctx.callChild('child', 1, { instanceId: 'child' }),
        await ctx.callChild('child', 2, { instanceId: 'child' }),
      ]),
    ),
  );
  await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
  await world.clock.advance(1);
  expect(await world.sidecar.workflows.get('one')).toMatchObject({ status: 'COMPLETED', output: [1, 2] });
  expect(runs).toEqual(['child 1', 'child 2']);
});

test('who waits for an instance that could not be started is told so', async () => {
  await using world = await workflowWorld(({ workflows }) => workflows.register('flow', () => 'done'));
  const { workflows } = world.sidecar;
  world.store.interfere = () => Promise.reject(new Error('the disk is full'));
  const started = workflows.start('flow', undefined, { instanceId: 'one' });
  const waited = workflows.run('one').ended();
  await expect(started).rejects.toMatchObject({ code: 'ERR_START_WORKFLOW' });
  await expect(waited).rejects.toMatchObject({ code: 'ERR_INSTANCE_ID_NOT_FOUND' });
  world.store.interfere = (_batch, commit) => commit();
});

test('an ID that is used again keeps the children of its first life, to be purged with it', async () => {
  await using world = await workflowWorld(({ workflows }) =>
    workflows.register(
      defineWorkflow('leaf', () => 'leaf'),
      defineWorkflow('flow', async (ctx, hasChild: boolean) => {
        if (hasChild) await ctx.callChild('leaf');
      }),
    ),
  );
  await world.run('flow', true);
  await world.run('flow', false);
  await world.sidecar.workflows.purge('one');
  expect(await world.size()).toBe(0);
});

test('failures with long messages are spread over turns and values like results', async () => {
  const COUNT = 2_000;
  await using world = await workflowWorld(({ workflows }) =>
    workflows.register(
      defineActivity('fail', () => {
        throw Object.assign(new Error('m'.repeat(20_000)), { stack: 's'.repeat(20_000) });
      }),
      defineWorkflow('flow', async (ctx) => {
        const calls = Array.from({ length: COUNT }, () => ctx.callActivity('fail'));
        const ends = await Promise.allSettled(calls);
        return ends.filter(({ status }) => status === 'rejected').length;
      }),
    ),
  );
  expect(await world.run('flow')).toMatchObject({ status: 'COMPLETED', output: COUNT });
});

test('a start at an instant that no calendar has is refused', async () => {
  await using world = await workflowWorld(({ workflows }) => workflows.register('flow', () => 'done'));
  await expect(world.sidecar.workflows.start('flow', undefined, { startAt: 1e300 })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
});

test('what has completed stays so, however many results come after that', async () => {
  const COUNT = 50_100;
  await using world = await workflowWorld(({ workflows }) =>
    workflows.register(
      defineActivity('note', () => undefined),
      defineWorkflow('flow', (ctx) => {
        for (let count = 0; count < COUNT; count++) void ctx.callActivity('note');
        return 'done';
      }),
    ),
  );
  expect(await world.run('flow')).toMatchObject({ status: 'COMPLETED', output: 'done' });
});

describe('an instance that has ended while an activity of it runs', () => {
  const DAY = { workflows: { retention: { anyTerminal: 86_400_000 } } };

  test('keeps its result when the code has changed, and goes when its retention is over', async () => {
    const hang = defineActivity('hang', () => new Promise<never>(() => undefined));
    await using world = await workflowWorld(({ workflows }) => {
      workflows.register('flow', (ctx) => {
        void ctx.callActivity(hang);
        return 'done';
      });
    }, DAY);
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    await world.sidecar.workflows.run('one').ended();
    const changed = ({ workflows }: Sidecar): void =>
      workflows.register('flow', (ctx) => ctx.callActivity('another').then(() => 'something else'));
    await world.restart(changed);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'done' });
    await world.restart(changed, '24h');
    expect([await world.sidecar.workflows.get('one'), await world.size()]).toEqual([undefined, 0]);
  });

  test('and is paused, with the result of that held back, leaves memory: its retention removes it', async () => {
    let end: () => void = () => undefined;
    await using world = await workflowWorld(
      ({ workflows }) =>
        workflows.register(
          defineActivity('slow', () => new Promise<void>((resolve) => (end = resolve))),
          defineWorkflow('flow', (ctx) => ctx.callActivity('slow')),
        ),
      DAY,
    );
    await world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
    await world.sidecar.workflows.pause('one');
    end();
    expect(await world.settle()).toMatchObject({ status: 'SUSPENDED' });
    await world.sidecar.workflows.terminate('one');
    expect(await world.settle()).toMatchObject({ status: 'TERMINATED' });
    await world.clock.advance('24h');
    await world.clock.settled();
    expect([await world.sidecar.workflows.get('one'), await world.size()]).toEqual([undefined, 0]);
  });
});

test('a start that is refused leaves the stored instance the message that came meanwhile', async () => {
  await using world = await workflowWorld(
    ({ workflows }) =>
      workflows.register(
        defineWorkflow('child', (ctx) => ctx.sleep('1m').then(() => 'grown up')),
        defineWorkflow('flow', (ctx) => ctx.callChild('child', undefined, { instanceId: 'kid' })),
      ),
    { workflows: { maxIdleInstances: 0 } },
  );
  await world.run('flow');
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  let again: Promise<unknown> | undefined;
  world.store.interfere = async (batch, commit) => {
    const puts = batch.put?.map(({ key }) => key) ?? [];
    // The end of the child: while it is told to its parent, somebody wants to use the ID of that.
    if (again === undefined && puts.some((key) => key.includes('inbox!'))) {
      again = world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
      again.catch(() => undefined);
    } else if (puts.some((key) => key.endsWith('instance!one!'))) await turns();
    return commit();
  };
  expect(await world.pass('1m')).toMatchObject({ status: 'COMPLETED', output: 'grown up' });
  await expect(again).rejects.toMatchObject({ code: 'ERR_START_WORKFLOW' });
});
