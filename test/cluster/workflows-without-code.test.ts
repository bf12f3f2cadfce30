import { expect, test } from 'vitest';
import { WorkflowLayout } from '../../src/blocks/workflow/storage/layout.ts';
import { defineActivity, defineWorkflow, type Sidecar, type WorkflowState } from '../../src/index.ts';
import { withFormat } from '../../src/state/values.ts';
import { Fleet, type Member } from '../support/fleet.ts';

const IDS = Array.from({ length: 24 }, (_, index) => `flow-${index}`);

/** What ran where. */
class Ran {
  readonly list: string[] = [];

  /** Workflow `order`; code that is newer has a patch in it. */
  order({ workflows }: Sidecar, version: 1 | 2): void {
    const note = defineActivity('note', (text: string) => void this.list.push(text));
    workflows.register(
      note,
      defineWorkflow('order', async (ctx) => {
        if (version === 2 && ctx.isPatched('check-first')) await ctx.callActivity(note, `check of ${ctx.instanceId}`);
        await ctx.sleep('2m');
        await ctx.callActivity(note, `end of ${ctx.instanceId}`);
        return 'done';
      }),
    );
  }

  /** A workflow that only newer code has. */
  invoice({ workflows }: Sidecar): void {
    workflows.register(
      defineWorkflow('invoice', async (ctx) => {
        this.list.push(ctx.instanceId);
        return ctx.waitForEvent('paid');
      }),
    );
  }
}

const states = ({ sidecar }: Member, ids = IDS): Promise<readonly (WorkflowState | undefined)[]> =>
  Promise.all(ids.map((id) => sidecar.workflows.get(id)));

async function leave(fleet: Fleet, member: Member): Promise<void> {
  fleet.members.splice(fleet.members.indexOf(member), 1);
  await member.stop();
}

test('instances of a workflow that one host lacks run on the one that has it, wherever they belong', async () => {
  await using fleet = new Fleet();
  const ran = new Ran();
  const [older, newer] = [await fleet.join(), await fleet.join()];
  ran.order(older.sidecar, 1);
  ran.invoice(newer.sidecar);
  await fleet.pass(3);
  for (const instanceId of IDS) await newer.sidecar.workflows.start('invoice', undefined, { instanceId });
  await fleet.pass(5);
  expect(ran.list.toSorted()).toEqual(IDS.toSorted());
  // Whichever host is asked, at once or after the newer one has been replaced.
  for (const id of IDS.slice(0, 12)) await older.sidecar.workflows.raiseEvent(id, 'paid', 'a');
  await fleet.pass(3);
  const third = await fleet.join();
  ran.invoice(third.sidecar);
  await fleet.pass(3);
  await leave(fleet, newer);
  await fleet.pass(5);
  for (const id of IDS.slice(12)) await older.sidecar.workflows.raiseEvent(id, 'paid', 'b');
  await fleet.pass(5);
  expect((await states(older)).map((state) => state?.output)).toEqual(IDS.map((_, index) => (index < 12 ? 'a' : 'b')));
  expect((await fleet.memory.scan({ from: 'workflows!', to: 'workflows"' })).map(({ key }) => key)).not.toContainEqual(
    expect.stringContaining('stand-in'),
  );
});

test('what hosts wait for is seen from all of them, and they leave it where it is', async () => {
  await using fleet = new Fleet();
  const ran = new Ran();
  const [first, second, newer] = [await fleet.join(), await fleet.join(), await fleet.join()];
  for (const { sidecar } of [first, second]) ran.order(sidecar, 1);
  ran.invoice(newer.sidecar);
  await fleet.pass(3);
  for (const instanceId of IDS) await newer.sidecar.workflows.start('invoice', undefined, { instanceId });
  await fleet.pass(3);
  await leave(fleet, newer);
  const count = ran.list.length;
  for (const id of IDS) await first.sidecar.workflows.raiseEvent(id, 'paid');
  await fleet.pass(5);
  const missingCode = [{ kind: 'workflow', name: 'invoice' }];
  for (const member of [first, second])
    for (const state of await states(member)) expect(state).toMatchObject({ status: 'RUNNING', missingCode });
  const writes = async (): Promise<unknown> => fleet.memory.scan({ from: 'workflows!', to: 'workflows"' });
  const before = await writes();
  await fleet.pass(60);
  expect(await writes()).toEqual(before);
  expect(ran.list.length).toBe(count);
  // Each of them accepts what does not need the code.
  for (const [index, id] of IDS.entries()) await [first, second][index % 2]?.sidecar.workflows.terminate(id);
  await fleet.pass(3);
  for (const state of await states(second)) expect(state).toMatchObject({ status: 'TERMINATED' });
  expect((await states(first))[0]?.missingCode).toBeUndefined();
});

test('an instance that has passed a patch goes on where its code is known, in a release that comes and goes', async () => {
  await using fleet = new Fleet();
  const ran = new Ran();
  const [first, second] = [await fleet.join(), await fleet.join()];
  ran.order(first.sidecar, 1);
  ran.order(second.sidecar, 2);
  await fleet.pass(3);
  for (const instanceId of IDS) await second.sidecar.workflows.start('order', undefined, { instanceId });
  await fleet.pass(3);
  // Its shards get another older host, so that a part of what has the patch comes there.
  const third = await fleet.join();
  ran.order(third.sidecar, 1);
  await fleet.pass(100);
  await leave(fleet, second);
  await fleet.pass(60);
  const passed = new Set(ran.list.filter((text) => text.startsWith('check')).map((text) => text.slice(9)));
  expect(passed.size).toBeGreaterThan(5);
  for (const state of await states(first)) {
    const id = state?.instanceId ?? '';
    if (!passed.has(id)) expect(state).toMatchObject({ status: 'COMPLETED' });
    else if (state?.status !== 'COMPLETED')
      expect(state).toMatchObject({ status: 'RUNNING', missingCode: [{ kind: 'patch', name: 'check-first' }] });
  }
  expect((await states(first)).some((state) => state?.missingCode !== undefined)).toBe(true);
  const fourth = await fleet.join();
  ran.order(fourth.sidecar, 2);
  await fleet.pass(10);
  expect((await states(third)).map((state) => state?.status)).toEqual(IDS.map(() => 'COMPLETED'));
  expect(ran.list.filter((text) => text.startsWith('check'))).toHaveLength(passed.size);
});

test('an entry that cannot be read holds up nothing', async () => {
  await using fleet = new Fleet();
  const ran = new Ran();
  const [older, newer] = [await fleet.join(), await fleet.join()];
  ran.order(older.sidecar, 1);
  ran.invoice(newer.sidecar);
  await fleet.pass(3);
  for (const instanceId of IDS) await newer.sidecar.workflows.start('invoice', undefined, { instanceId });
  const { standInRange } = new WorkflowLayout('shop');
  const value = withFormat(1, Buffer.from('{"needs":'));
  await fleet.memory.commit({
    put: [
      { key: `${standInRange.from}0`, value },
      { key: `${standInRange.from}x!`, value },
    ],
  });
  // It takes the shards of the other host, and reads who runs the instances in them.
  await leave(fleet, older);
  await fleet.pass(5);
  for (const id of IDS) await newer.sidecar.workflows.raiseEvent(id, 'paid', 'a');
  await fleet.pass(5);
  expect((await states(newer)).map((state) => state?.output)).toEqual(IDS.map(() => 'a'));
  expect(newer.logger.at('error').map(({ message }) => message)).toContain(
    'what host runs a workflow cannot be read: the owner of its shard does',
  );
});

test('a stand-in that stood still is followed by another host, and writes nothing when it wakes', async () => {
  await using fleet = new Fleet();
  const [older, newer, other] = [await fleet.join(), await fleet.join(), await fleet.join()];
  const ran: string[] = [];
  const register = ({ workflows }: Sidecar, name: string): void =>
    workflows.register(
      defineActivity('count', (_input, { instanceId }) => void ran.push(`${name} ${instanceId}`)),
      defineWorkflow('invoice', async (ctx) => {
        for (let nth = 0; nth < 3; nth++) {
          await ctx.waitForEvent('go');
          await ctx.callActivity('count');
        }
        return 'done';
      }),
    );
  older.sidecar.workflows.register(defineWorkflow('order', () => 'done'));
  register(newer.sidecar, 'newer');
  await fleet.pass(3);
  for (const instanceId of IDS) await newer.sidecar.workflows.start('invoice', undefined, { instanceId });
  await fleet.pass(3);
  register(other.sidecar, 'other');
  const raise = async (): Promise<void> => {
    for (const id of IDS) await older.sidecar.workflows.raiseEvent(id, 'go');
  };
  await raise();
  await fleet.pass(3);
  expect(ran).toHaveLength(IDS.length);
  newer.store.pause();
  await raise();
  await fleet.pass(30, [older, other]);
  newer.store.resume();
  await raise();
  await fleet.pass(10);
  expect((await states(older)).map((state) => state?.output)).toEqual(IDS.map(() => 'done'));
  expect(ran).toHaveLength(3 * IDS.length);
});
