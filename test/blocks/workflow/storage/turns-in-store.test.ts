import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, Sidecar } from '../../../../src/index.ts';
import { type Batch, type Clock, systemClock } from '../../../../src/kit/index.ts';
import { StateError } from '../../../../src/state/errors.ts';
import { KeptStore } from '../../../support/kept-store.ts';
import { RecordingLogger } from '../../../support/logger.ts';
import { workflowWorld } from '../../../support/workflow-world.ts';

const RECORD = /instance/;

function recordsIn({ put = [] }: Batch): number {
  return put.filter(({ key }) => RECORD.test(key)).length;
}

describe('turns that only add to the history', () => {
  const turnsOfTheLoop = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };

  /** A sidecar whose activities wait until they are told to end, and another one that has no code and only reads. */
  async function gated() {
    let now = Date.parse('2026-01-01T00:00:00Z');
    const clock: Clock = { now: () => now, setTimeout: (ring, delayMs) => systemClock.setTimeout(ring, delayMs) };
    const state = new KeptStore();
    const logger = new RecordingLogger();
    const open: (() => void)[] = [];
    const gate = defineActivity('gate', () => new Promise<void>((resolve) => open.push(resolve)));
    const flow = defineWorkflow('flow', async (ctx) => {
      await ctx.callActivity(gate);
      await ctx.callActivity(gate);
      ctx.setCustomStatus('half');
      await ctx.callActivity(gate);
      await ctx.callActivity(gate);
    });
    const sidecar = new Sidecar({ appId: 'shop', clock, state, logger });
    sidecar.workflows.register(flow);
    await sidecar.start();
    await sidecar.workflows.start(flow, undefined, { instanceId: 'one' });
    await turnsOfTheLoop();
    return {
      sidecar,
      state,
      passGate: async (): Promise<void> => {
        now += 1_000;
        open.shift()?.();
        await turnsOfTheLoop();
      },
      reader: async (): Promise<Sidecar> => {
        const other = new Sidecar({ appId: 'shop', clock, state, logger });
        await other.start();
        return other;
      },
      end: async (): Promise<void> => {
        for (let gates = 0; gates < 4; gates++) {
          open.shift()?.();
          await turnsOfTheLoop();
        }
        await sidecar.stop();
      },
    };
  }

  test('do not write the record, and what is shown is right: of this process, and of one that only reads', async () => {
    const { sidecar, state, passGate, reader, end } = await gated();
    const other = await reader();
    const records: number[] = [];
    state.interfere = (batch, commit) => {
      // Hosts write as well, in their own time.
      if (batch.put?.some(({ key }) => key.startsWith('workflows!'))) records.push(recordsIn(batch));
      return commit();
    };
    const { createdAt = 0 } = (await sidecar.workflows.get('one')) ?? {};
    for (let passed = 1; passed <= 3; passed++) {
      await passGate();
      const shown = { status: 'RUNNING', lastUpdatedAt: createdAt + passed * 1_000 };
      for (const { workflows } of [sidecar, other]) {
        expect(await workflows.get('one')).toMatchObject(shown);
        expect((await workflows.listPage()).instances).toMatchObject([shown]);
      }
    }
    expect(await other.workflows.get('one')).toMatchObject({ customStatus: 'half' });
    expect(records).toEqual([0, 1, 0]);
    await other.stop();
    await end();
  });

  test('are followed by the end of an instance that nobody has the code of', async () => {
    const { passGate, reader, end } = await gated();
    await passGate();
    const other = await reader();
    await other.workflows.terminate('one', 'enough');
    expect(await other.workflows.get('one')).toMatchObject({ status: 'TERMINATED', output: 'enough' });
    const types = (await other.workflows.history('one')).map(({ type }) => type);
    expect(types).toEqual(['started', 'activityScheduled', 'activityCompleted', 'activityScheduled', 'terminated']);
    // The first one has not noticed, and cannot write over it.
    await passGate();
    expect(await other.workflows.history('one')).toHaveLength(types.length);
    await other.stop();
    await end();
  });
});

describe('turns of one moment', () => {
  const flow = defineWorkflow('flow', async (ctx, input: number) => {
    await ctx.waitForEvent('go');
    return input;
  });
  const IDS = ['a', 'b', 'c', 'd'];

  test('are one commit', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register(flow));
    let commits = 0;
    world.store.interfere = (_batch, commit) => {
      commits++;
      return commit();
    };
    await Promise.all(IDS.map((instanceId, input) => world.sidecar.workflows.start(flow, input, { instanceId })));
    expect(commits).toBe(1);
    expect((await world.sidecar.workflows.listPage()).instances).toHaveLength(IDS.length);
  });

  test('do not fail with one of them whose ID is taken', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register(flow));
    await world.run('flow', 0, 'c');
    // As if another host had it.
    await world.restart();
    const { workflows } = world.sidecar;
    const started = await Promise.allSettled(
      IDS.map((instanceId, input) => workflows.start(flow, input, { instanceId })),
    );
    expect(started.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    for (const id of IDS) await workflows.raiseEvent(id, 'go');
    const ended = await Promise.all(IDS.map((id) => workflows.run(id).ended()));
    expect(ended.map(({ output }) => output)).toEqual([0, 1, 0, 3]);
  });

  test('do not fail with one of them that the store does not take', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register(flow));
    world.store.interfere = (batch, commit) =>
      batch.put?.some(({ key }) => key.includes('b!')) === true
        ? Promise.reject(new StateError('full', 'no room'))
        : commit();
    const started = await Promise.allSettled(
      IDS.map((instanceId, input) => world.sidecar.workflows.start(flow, input, { instanceId })),
    );
    expect(started.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    world.store.interfere = (_batch, commit) => commit();
  });
});
