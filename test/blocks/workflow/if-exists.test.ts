/** What a start does with an existing instance of the same ID. */
import { describe, expect, test } from 'vitest';
import { DaprWorkflowClient } from '../../../src/dapr/index.ts';
import { defineActivity, defineWorkflow, type Sidecar, type WorkflowRun } from '../../../src/index.ts';
import { ApartFleet, type ApartHost, twoOf } from '../../support/apart.ts';
import { Fleet, type Member } from '../../support/fleet.ts';
import { type WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

function register({ workflows }: Sidecar, { seen }: { readonly seen: string[] }): void {
  const charge = defineActivity('charge', (order: string) => void seen.push(order));
  workflows.register(
    charge,
    defineWorkflow('checkout', async (ctx, order: string) => {
      await ctx.callActivity(charge, order);
      if (order === 'broken') throw new Error('no stock');
      if (order === 'slow') await ctx.sleep('1h');
      return order;
    }),
  );
}

type Status = 'COMPLETED' | 'FAILED' | 'TERMINATED' | 'RUNNING';
const ORDERS: readonly (readonly [status: Status, order: string])[] = [
  ['COMPLETED', 'shoes'],
  ['FAILED', 'broken'],
  ['TERMINATED', 'slow'],
  ['RUNNING', 'slow'],
];

/** A world with an instance of a status. */
async function worldWith(status: Status, order: string): Promise<WorkflowWorld> {
  const world = await workflowWorld(register);
  await world.run('checkout', order);
  if (status === 'TERMINATED') await world.sidecar.workflows.terminate('one');
  expect((await world.settle()).status).toBe(status);
  return world;
}

const again = (world: WorkflowWorld, ifExists?: 'fail' | 'keep' | 'replace'): Promise<WorkflowRun> =>
  world.sidecar.workflows.start('checkout', 'again', { instanceId: 'one', ...(ifExists && { ifExists }) });

describe.each(['in memory', 'after a restart'])('a start with the ID of another instance, %s', (place) => {
  async function withOther(status: Status, order: string): Promise<WorkflowWorld> {
    const world = await worldWith(status, order);
    if (place !== 'in memory') await world.restart();
    return world;
  }

  test.each(ORDERS)('is refused when that is %s, by default', async (status, order) => {
    await using world = await withOther(status, order);
    const message = status === 'RUNNING' ? /an active workflow with ID "one"/ : new RegExp(`"one".* is ${status}`);
    for (const ifExists of [undefined, 'fail'] as const)
      await expect(again(world, ifExists)).rejects.toMatchObject({
        code: 'ERR_START_WORKFLOW',
        message: expect.stringMatching(message),
      });
    expect(await world.settle()).toMatchObject({ status, input: order });
    expect(world.seen).toEqual([order]);
  });

  test.each(ORDERS)('keeps it when that is %s, with keep', async (status, order) => {
    await using world = await withOther(status, order);
    expect((await again(world, 'keep')).instanceId).toBe('one');
    expect(await world.settle()).toMatchObject({ status, input: order });
    expect(world.seen).toEqual([order]);
  });

  test.each(ORDERS)('replaces only one that has finished, with replace: %s', async (status, order) => {
    await using world = await withOther(status, order);
    if (status === 'RUNNING')
      await expect(again(world, 'replace')).rejects.toMatchObject({ code: 'ERR_START_WORKFLOW' });
    else {
      await again(world, 'replace');
      expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'again' });
    }
  });
});

describe('a start', () => {
  test.each(['fail', 'keep', 'replace'] as const)('runs when the ID is new, with %s', async (ifExists) => {
    await using world = await workflowWorld(register);
    await again(world, ifExists);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'again' });
  });

  test('begins one instance however often it is asked for at once, with keep', async () => {
    await using world = await workflowWorld(register);
    const ids = await Promise.all(Array.from({ length: 50 }, () => again(world, 'keep')));
    expect(new Set(ids.map((run) => run.instanceId))).toEqual(new Set(['one']));
    await world.settle();
    expect(world.seen).toEqual(['again']);
  });

  test('with keep is not answered before the first one is stored', async () => {
    await using world = await workflowWorld(register);
    world.store.interfere = () => Promise.reject(new Error('the disk is full'));
    const starts = await Promise.allSettled([again(world, 'keep'), again(world, 'keep')]);
    expect(starts.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  test('refuses another value of ifExists', async () => {
    await using world = await workflowWorld(register);
    await expect(again(world, 'update' as never)).rejects.toThrow(
      'ifExists in options of start is "update": expected "fail", "keep" or "replace"',
    );
  });

  test('through DaprWorkflowClient replaces an instance that has finished, as in Dapr', async () => {
    await using world = await worldWith('COMPLETED', 'shoes');
    const client = new DaprWorkflowClient({ sidecar: world.sidecar });
    await client.scheduleNewWorkflow('checkout', 'again', 'one');
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'again' });
  });
});

describe('several hosts that get the same message', () => {
  const IDS = Array.from({ length: 30 }, (_, index) => `order-${index}`);

  test('start one instance with keep, through the store', async () => {
    await using fleet = new Fleet();
    const hosts: Member[] = [];
    for (let index = 0; index < 3; index++) {
      const member = await fleet.join({ isApart: true });
      register(member.sidecar, { seen: member.runs });
      hosts.push(member);
    }
    await fleet.pass(5);
    for (const round of ['first', 'again']) {
      const starts = IDS.flatMap((instanceId) =>
        hosts.map(({ sidecar }) => sidecar.workflows.start('checkout', instanceId, { instanceId, ifExists: 'keep' })),
      );
      expect(
        (await Promise.all(starts)).map((run) => run.instanceId),
        round,
      ).toEqual(IDS.flatMap((id) => [id, id, id]));
      await fleet.pass(3);
    }
    expect(hosts.flatMap(({ runs }) => runs).toSorted()).toEqual(IDS.toSorted());
  });

  test('start one instance with keep, from host to host, also when answers are lost', async () => {
    await using fleet = new ApartFleet();
    const hosts = await twoOf(fleet);
    const seen: string[] = [];
    for (const { workflows } of hosts)
      workflows.register(
        defineWorkflow('order', async (ctx, order: string) => {
          await ctx.callActivity('note', order);
        }),
        defineActivity('note', (order: string) => void seen.push(order)),
      );
    let count = 0;
    for (const host of hosts) host.fateOf = () => (++count % 5 === 0 ? 'lost' : 'handled');
    const start = ({ workflows }: ApartHost, instanceId: string): Promise<WorkflowRun> =>
      workflows.start('order', instanceId, { instanceId, ifExists: 'keep' });
    for (let round = 0; round < 3; round++) {
      await Promise.all(IDS.flatMap((id) => hosts.map((host) => start(host, id))));
      await fleet.fleet.pass(2);
    }
    expect(seen.toSorted()).toEqual(IDS.toSorted());
    const refused = await Promise.allSettled(
      IDS.flatMap((instanceId) => hosts.map(({ workflows }) => workflows.start('order', 'x', { instanceId }))),
    );
    expect(refused.every(({ status }) => status === 'rejected')).toBe(true);
    expect(seen).toHaveLength(IDS.length);
  });
});
