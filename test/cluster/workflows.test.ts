import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, type Sidecar } from '../../src/index.ts';
import { Fleet, type Member } from '../support/fleet.ts';

const IDS = Array.from({ length: 40 }, (_, index) => `flow-${index}`);

/** Which sidecar ran the activity of which instance. */
class Runs {
  readonly list: (readonly [member: number, instanceId: string])[] = [];

  register({ workflows }: Sidecar, member: number): void {
    const note = defineActivity('note', (text: string, { instanceId }) => {
      this.list.push([member, instanceId]);
      return text;
    });
    const flow = defineWorkflow('flow', async (ctx) => {
      const first = await ctx.callActivity(note, 'a');
      const second = await ctx.waitForEvent<string>('go');
      await ctx.sleep('5s');
      return first + second + (await ctx.callActivity(note, 'c'));
    });
    const family = defineWorkflow('family', async (ctx, count: number) => {
      const children = Array.from({ length: count }, (_, index) =>
        ctx.callChild<string>('child', index, { instanceId: `child-${index}` }),
      );
      return (await Promise.all(children)).join('');
    });
    const child = defineWorkflow('child', async (_ctx, index: number) => String(index));
    workflows.register(note, flow, family, child);
  }

  of(member: number): string[] {
    return this.list.flatMap(([at, id]) => (at === member ? [id] : []));
  }
}

async function twoOf(fleet: Fleet, runs: Runs): Promise<[Member, Member]> {
  const members: [Member, Member] = [await fleet.join(), await fleet.join()];
  members.forEach(({ sidecar }, index) => {
    runs.register(sidecar, index);
  });
  await fleet.pass(2);
  return members;
}

const statuses = async ({ sidecar }: Member): Promise<unknown[]> =>
  Promise.all(IDS.map(async (id) => (await sidecar.workflows.get(id))?.output));

describe('workflows of one app ID on two hosts', () => {
  test('run on both, whichever they are started, steered and read on', async () => {
    await using fleet = new Fleet();
    const runs = new Runs();
    const [a, b] = await twoOf(fleet, runs);
    for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
    await fleet.pass(1);
    for (const id of IDS) await b.sidecar.workflows.raiseEvent(id, 'go', 'b');
    await fleet.pass(8);
    expect(await statuses(a)).toEqual(IDS.map(() => 'abc'));
    expect(runs.list.length).toBe(2 * IDS.length);
    expect(Math.min(runs.of(0).length, runs.of(1).length)).toBeGreaterThan(15);
  });

  test('a start is refused, terminate, pause and purge work on either host', async () => {
    await using fleet = new Fleet();
    const runs = new Runs();
    const [a, b] = await twoOf(fleet, runs);
    const ids = IDS.slice(0, 8);
    for (const instanceId of ids) await a.sidecar.workflows.start('flow', undefined, { instanceId });
    await fleet.pass(1);
    for (const id of ids) {
      await expect(b.sidecar.workflows.start('flow', undefined, { instanceId: id })).rejects.toMatchObject({
        code: 'ERR_START_WORKFLOW',
      });
      await b.sidecar.workflows.pause(id);
    }
    await fleet.pass(1);
    for (const id of ids) expect((await a.sidecar.workflows.get(id))?.status).toBe('SUSPENDED');
    for (const id of ids) await b.sidecar.workflows.terminate(id, 'over');
    await fleet.pass(1);
    for (const id of ids) {
      expect(await a.sidecar.workflows.get(id)).toMatchObject({ status: 'TERMINATED', output: 'over' });
      await b.sidecar.workflows.purge(id);
      expect(await a.sidecar.workflows.get(id)).toBeUndefined();
    }
  });

  test('clean up when another host cancels them, and on the host that takes them over', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join({ isApart: true }), await fleet.join({ isApart: true })];
    const undone: string[] = [];
    for (const { sidecar } of [a, b])
      sidecar.workflows.register(
        defineActivity('undo', (_input, { instanceId }) => void undone.push(instanceId)),
        defineWorkflow('flow', async (ctx) => {
          try {
            await ctx.waitForEvent('never');
          } finally {
            await ctx.sleep('20s');
            await ctx.callActivity('undo');
          }
        }),
        defineWorkflow('family', (ctx) => ctx.callChild('flow', undefined, { instanceId: `${ctx.instanceId}-child` })),
      );
    await fleet.pass(2);
    for (const instanceId of IDS) await a.sidecar.workflows.start('family', undefined, { instanceId });
    await fleet.pass(1);
    for (const id of IDS) await b.sidecar.workflows.cancel(id);
    await fleet.pass(2);
    // It stands still from here on, in the middle of its clean-ups, and the other takes them over.
    b.store.pause();
    await fleet.pass(90, [a]);
    const children = IDS.map((id) => `${id}-child`);
    const states = await Promise.all([...IDS, ...children].map((id) => a.sidecar.workflows.get(id)));
    expect(states.filter((state) => state?.status !== 'CANCELED')).toEqual([]);
    expect(undone.toSorted()).toEqual(children.toSorted());
  });

  test('stay on a host that lacks the code of their activities and children: those run at the other one', async () => {
    await using fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    const flow = defineWorkflow('flow', async (ctx, kid: string) => {
      await ctx.waitForEvent('go');
      return Promise.all([ctx.callActivity('note'), ctx.callChild(kid)]);
    });
    for (const { sidecar } of [a, b]) sidecar.workflows.register(flow);
    b.sidecar.workflows.register(
      defineActivity('note', () => 'noted'),
      defineWorkflow('kid', () => 'kid'),
    );
    await fleet.pass(2);
    for (const instanceId of IDS) await b.sidecar.workflows.start('flow', 'kid', { instanceId });
    for (const id of IDS) await b.sidecar.workflows.raiseEvent(id, 'go');
    const views = await Promise.all(IDS.map((id) => a.sidecar.workflows.get(id)));
    const waiting = views.filter((view) => view?.missingCode !== undefined);
    expect(waiting.length).toBeGreaterThan(5);
    for (const view of waiting)
      expect(view).toMatchObject({ status: 'RUNNING', missingCode: [{ kind: 'activity', name: 'note' }] });
    await fleet.pass(4);
    expect(await statuses(a)).toEqual(IDS.map(() => ['noted', 'kid']));
    for (const id of IDS) expect((await b.sidecar.workflows.get(id))?.missingCode).toBeUndefined();
  });

  test('children run on both, and their parent gets every result', async () => {
    await using fleet = new Fleet();
    const [a, b] = await twoOf(fleet, new Runs());
    await a.sidecar.workflows.start('family', 30, { instanceId: 'family' });
    await fleet.pass(3);
    const expected = Array.from({ length: 30 }, (_, index) => index).join('');
    expect(await b.sidecar.workflows.get('family')).toMatchObject({ status: 'COMPLETED', output: expected });
  });

  test('go on at the other host when one stops', async () => {
    await using fleet = new Fleet();
    const runs = new Runs();
    const [a, b] = await twoOf(fleet, runs);
    for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
    await fleet.pass(1);
    fleet.members.shift();
    await a.stop();
    for (const id of IDS) await b.sidecar.workflows.raiseEvent(id, 'go', 'b');
    await fleet.pass(8);
    expect(await statuses(b)).toEqual(IDS.map(() => 'abc'));
    expect(runs.list.length).toBe(2 * IDS.length);
  });

  test('go on at the other host within the lease when one stands still, which can write nothing when it wakes', async () => {
    await using fleet = new Fleet();
    const runs = new Runs();
    const [a, b] = await twoOf(fleet, runs);
    for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
    await fleet.pass(1);
    a.store.pause();
    for (const id of IDS) await b.sidecar.workflows.raiseEvent(id, 'go', 'b');
    await fleet.pass(25, [b]);
    expect(await statuses(b)).toEqual(IDS.map(() => 'abc'));
    const before = await fleet.memory.scan({ from: 'workflows!', to: 'workflows"' });
    a.store.resume();
    await a.clock.advance('25s');
    await a.clock.settled();
    expect(await fleet.memory.scan({ from: 'workflows!', to: 'workflows"' })).toEqual(before);
  });

  test('waiting for the end works for instances of the other host', async () => {
    await using fleet = new Fleet();
    const [a, b] = await twoOf(fleet, new Runs());
    for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
    await fleet.pass(1);
    const all = Promise.all(IDS.map((id) => b.sidecar.workflows.run(id).ended()));
    for (const id of IDS) await a.sidecar.workflows.raiseEvent(id, 'go', 'b');
    await fleet.pass(8);
    expect((await all).map(({ output }) => output)).toEqual(IDS.map(() => 'abc'));
  });
});
