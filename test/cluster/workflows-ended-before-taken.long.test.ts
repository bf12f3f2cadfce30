import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, type Sidecar } from '../../src/index.ts';
import { Fleet, type Member } from '../support/fleet.ts';

const IDS = Array.from({ length: 16 }, (_, index) => `flow-${index}`);

/** Activities that never end, by who began them, and for which instance. */
class Begun {
  list: (readonly [member: number, instanceId: string])[] = [];

  register({ workflows }: Sidecar, member: number): void {
    const charge = defineActivity('charge', (_input, { instanceId }) => {
      this.list.push([member, instanceId]);
      return new Promise<void>(() => undefined);
    });
    const flow = defineWorkflow('flow', async (ctx) => ctx.callActivity(charge));
    // The generations of a family have shards of their own.
    const family = defineWorkflow('family', async (ctx, generations: number): Promise<void> => {
      if (generations > 0) await ctx.callChild('family', generations - 1);
      else await ctx.callActivity(charge);
    });
    workflows.register(charge, flow, family);
  }

  /** Forgets what was begun; answers the instances whose activities a member had begun. */
  take(member: number): readonly string[] {
    const ids = this.list.flatMap(([by, id]) => (by === member ? [id] : []));
    this.list = [];
    return ids;
  }

  get ids(): readonly string[] {
    return this.list.map(([, id]) => id);
  }
}

async function join(fleet: Fleet, begun: Begun, count: number): Promise<Member[]> {
  const members: Member[] = [];
  for (let index = 0; index < count; index++) {
    const member = await fleet.join();
    begun.register(member.sidecar, members.length);
    members.push(member);
  }
  await fleet.pass(3);
  return members;
}

async function twoHosts(fleet: Fleet, begun: Begun): Promise<readonly [Member, Member]> {
  const [a, b] = await join(fleet, begun, 2);
  if (a === undefined || b === undefined) throw new Error('two were to join');
  return [a, b];
}

/** How the owner leaves its instances, with their activities under way. */
const ENDS = {
  'stands still': async (fleet: Fleet, member: Member): Promise<void> => {
    fleet.members.splice(fleet.members.indexOf(member), 1);
    member.store.pause();
  },
  stops: async (fleet: Fleet, member: Member): Promise<void> => {
    fleet.members.splice(fleet.members.indexOf(member), 1);
    await member.stop();
  },
} as const;
type End = keyof typeof ENDS;

describe.each(Object.keys(ENDS) as End[])('when the owner of an instance %s', (end) => {
  test.each(['terminate', 'pause'] as const)(
    '%s that another host has acknowledged holds for it',
    async (operation) => {
      await using fleet = new Fleet();
      const begun = new Begun();
      const [a, b] = await twoHosts(fleet, begun);
      for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
      await fleet.pass(1);
      const ids = begun.take(0);
      expect(ids.length).toBeGreaterThan(2);
      if (end === 'stands still') await ENDS[end](fleet, a);
      else void ENDS[end](fleet, a);
      await Promise.all(ids.map((id) => b.sidecar.workflows[operation](id)));
      await fleet.pass(20);
      expect(begun.ids).toEqual([]);
      const status = operation === 'terminate' ? 'TERMINATED' : 'SUSPENDED';
      for (const id of ids) expect((await b.sidecar.workflows.get(id))?.status).toBe(status);
      if (operation === 'terminate') return;
      await Promise.all(ids.map((id) => b.sidecar.workflows.resume(id)));
      await fleet.pass(2);
      expect(begun.ids.toSorted()).toEqual(ids.toSorted());
    },
  );

  test.each(['terminate', 'pause'] as const)('%s holds for a third host too', async (operation) => {
    await using fleet = new Fleet();
    const begun = new Begun();
    const [a, b] = await twoHosts(fleet, begun);
    for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
    await fleet.pass(1);
    const ids = begun.take(0);
    await ENDS['stands still'](fleet, a);
    await Promise.all(ids.map((id) => b.sidecar.workflows[operation](id)));
    // It may have come to take them over itself, or not.
    if (end === 'stops') await fleet.pass(20);
    await ENDS[end](fleet, b);
    const c = await fleet.join();
    begun.register(c.sidecar, 2);
    await fleet.pass(25);
    expect(begun.ids.filter((id) => ids.includes(id))).toEqual([]);
  });
});

test('what a family’s head was told, its children do not begin beside', async () => {
  await using fleet = new Fleet();
  const begun = new Begun();
  const [a, b] = await twoHosts(fleet, begun);
  for (const instanceId of IDS) await a.sidecar.workflows.start('family', 2, { instanceId });
  await fleet.pass(5);
  begun.take(0);
  // Whatever of the family was at the host that stands still comes to the other one at the same moment.
  await ENDS['stands still'](fleet, a);
  await Promise.all(IDS.map((id) => b.sidecar.workflows.terminate(id)));
  await fleet.pass(25);
  expect(begun.ids).toEqual([]);
  for (const id of IDS) expect((await b.sidecar.workflows.get(id))?.status).toBe('TERMINATED');
});

test('an instance that was paused and resumed goes on at its next owner', async () => {
  await using fleet = new Fleet();
  const begun = new Begun();
  const [a, b] = await twoHosts(fleet, begun);
  for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
  await fleet.pass(1);
  const ids = begun.take(0);
  await ENDS['stands still'](fleet, a);
  for (const operation of ['pause', 'resume'] as const)
    await Promise.all(ids.map((id) => b.sidecar.workflows[operation](id)));
  await fleet.pass(25);
  expect(begun.ids.toSorted()).toEqual(ids.toSorted());
});

test('an instance that was told nothing begins its activities again at its next owner', async () => {
  await using fleet = new Fleet();
  const begun = new Begun();
  const [a] = await twoHosts(fleet, begun);
  for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
  await fleet.pass(1);
  const ids = begun.take(0);
  await ENDS['stands still'](fleet, a);
  await fleet.pass(20);
  expect(begun.ids.toSorted()).toEqual(ids.toSorted());
});
