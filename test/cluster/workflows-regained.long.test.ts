import { expect, test } from 'vitest';
import { type Duration, defineActivity, defineWorkflow, type Sidecar, StateError } from '../../src/index.ts';
import { Fleet, type Member } from '../support/fleet.ts';

const IDS = Array.from({ length: 20 }, (_, index) => `flow-${index}`);

/**
 * Starts instances that wait for a timer beside an activity. Another host, without their code, gets shards and leaves
 * what is in them as it is; its stay is longer than the release of shards waits for activities.
 */
async function regained(fleet: Fleet, timer: Duration): Promise<{ readonly a: Member; readonly release: () => void }> {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const a = await fleet.join();
  a.sidecar.workflows.register(
    defineActivity('hold', () => held),
    defineWorkflow('flow', async (ctx) => {
      void ctx.callActivity('hold');
      await ctx.sleep(timer);
      return 'awake';
    }),
  );
  await fleet.pass(2);
  for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
  const b = await fleet.join();
  await fleet.pass(25);
  fleet.members.splice(fleet.members.indexOf(b), 1);
  await b.stop();
  return { a, release };
}

test('an instance whose shard goes and comes back while an activity runs is looked after again', async () => {
  await using fleet = new Fleet();
  const { a, release } = await regained(fleet, '2m');
  await fleet.pass(5);
  release();
  await fleet.pass(150);
  const states = await Promise.all(IDS.map((id) => a.sidecar.workflows.get(id)));
  expect(states.map((state) => state?.output)).toEqual(IDS.map(() => 'awake'));
}, 60_000);

test('an instance whose shard comes back does not wait for an activity from before', async () => {
  await using fleet = new Fleet();
  const { a, release } = await regained(fleet, '35s');
  await fleet.pass(15);
  const states = await Promise.all(IDS.map((id) => a.sidecar.workflows.get(id)));
  release();
  expect(states.map((state) => state?.output)).toEqual(IDS.map(() => 'awake'));
}, 60_000);

test('events that one client raises one after the other at the wrong host keep their order', async () => {
  await using fleet = new Fleet();
  const register = ({ workflows }: Sidecar): void =>
    workflows.register('flow', async (ctx) => {
      const seen: unknown[] = [];
      for (let count = 0; count < 30; count++) seen.push(await ctx.waitForEvent('go'));
      return seen;
    });
  const [a, b] = [await fleet.join(), await fleet.join()];
  register(a.sidecar);
  register(b.sidecar);
  await fleet.pass(2);
  for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
  await fleet.pass(1);
  const numbers = Array.from({ length: 30 }, (_, index) => index);
  // What is raised at the host that goes on lies in the store until the other one has gone.
  a.store.pause();
  for (const id of IDS) for (const number of numbers) await b.sidecar.workflows.raiseEvent(id, 'go', number);
  await fleet.pass(40, [b]);
  const states = await Promise.all(IDS.map((id) => b.sidecar.workflows.get(id)));
  expect(states.map((state) => state?.output)).toEqual(IDS.map(() => numbers));
  a.store.resume();
}, 60_000);

test('an instance that is read while its shard goes to another host runs its activities there only', async () => {
  await using fleet = new Fleet();
  const runs: string[] = [];
  const register =
    (host: string) =>
    ({ workflows }: Sidecar): void =>
      workflows.register(
        defineActivity('hang', () => {
          runs.push(host);
          return new Promise<never>(() => undefined);
        }),
        defineWorkflow('flow', (ctx) => ctx.callActivity('hang')),
      );
  const first = await fleet.join();
  register('first')(first.sidecar);
  await fleet.pass(2);
  for (const instanceId of IDS) await first.sidecar.workflows.start('flow', undefined, { instanceId });
  await fleet.pass(1);
  await first.stop();
  fleet.members.length = 0;
  runs.length = 0;

  let answer: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const slow = await fleet.join();
  slow.store.keepsBack = (entries) => (entries.some(({ key }) => key.includes('history!')) ? held : undefined);
  register('slow')(slow.sidecar);
  await fleet.pass(2);
  expect(runs).toEqual([]);
  const quick = await fleet.join();
  register('quick')(quick.sidecar);
  await fleet.pass(60);
  expect(runs).toContain('quick');
  answer();
  await fleet.pass(5);
  expect([...new Set(runs)].sort()).toEqual(['quick', 'slow']);
  // Each of them by the host that has its shard.
  expect(runs).toHaveLength(IDS.length);
}, 60_000);

test('a host that stops keeps the activities that run until they have ended, although another one joins', async () => {
  await using fleet = new Fleet();
  const runs: string[] = [];
  const ends: (() => void)[] = [];
  const register =
    (host: string) =>
    ({ workflows }: Sidecar): void =>
      workflows.register(
        defineActivity('hold', () => {
          runs.push(host);
          return new Promise<string>((resolve) => ends.push(() => resolve(host)));
        }),
        defineWorkflow('flow', (ctx) => ctx.callActivity('hold')),
      );
  const a = await fleet.join({ stopTimeout: 30_000 });
  register('a')(a.sidecar);
  await fleet.pass(2);
  for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
  await expect.poll(() => runs.length).toBe(IDS.length);
  const stopped = a.sidecar.stop();
  const b = await fleet.join();
  register('b')(b.sidecar);
  await fleet.pass(8);
  for (const end of ends) end();
  await fleet.pass(5);
  await stopped;
  await fleet.pass(15, [b]);
  const states = await Promise.all(IDS.map((id) => b.sidecar.workflows.get(id)));
  expect(states.map((state) => state?.output)).toEqual(IDS.map(() => 'a'));
  expect(runs).toEqual(IDS.map(() => 'a'));
}, 60_000);

test('a host that stood still, and whose shards nobody took, goes on with what runs', async () => {
  await using fleet = new Fleet();
  const signals: AbortSignal[] = [];
  const ran: string[] = [];
  let release: (value: string) => void = () => undefined;
  const held = new Promise<string>((resolve) => {
    release = resolve;
  });
  const a = await fleet.join({ isApart: true });
  a.sidecar.workflows.register(
    defineActivity('hold', (_input, { signal }) => {
      signals.push(signal);
      return held;
    }),
    defineActivity('tell', (_input, { instanceId }) => void ran.push(instanceId)),
    defineWorkflow('flow', async (ctx) => {
      const result = ctx.callActivity('hold');
      await ctx.sleep('30s');
      await ctx.callActivity('tell');
      return result;
    }),
  );
  await fleet.pass(2);
  for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
  await fleet.pass(1);
  a.store.pause();
  await fleet.pass(20, []);
  await a.clock.advance(20_000);
  a.store.resume();
  await fleet.pass(20);
  // What comes next does not wait for the activity either.
  expect(ran.sort()).toEqual([...IDS].sort());
  expect(signals.map(({ aborted }) => aborted)).toEqual(IDS.map(() => false));
  release('done');
  await fleet.pass(2);
  const states = await Promise.all(IDS.map((id) => a.sidecar.workflows.get(id)));
  expect(states.map((state) => state?.output)).toEqual(IDS.map(() => 'done'));
}, 60_000);

test('a turn that waits for a full store while its shard is dropped and regained is not lost', async () => {
  await using fleet = new Fleet();
  const a = await fleet.join({ isApart: true });
  a.sidecar.workflows.register(
    defineActivity('finish', () => 'finished'),
    defineWorkflow('child', (ctx) => ctx.sleep('3s')),
    defineWorkflow('flow', async (ctx) => {
      await ctx.callChild('child');
      return ctx.callActivity('finish');
    }),
  );
  await fleet.pass(2);
  for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
  const commit = a.store.commit.bind(a.store);
  let isFull = false;
  a.store.commit = async (batch) => {
    if (isFull) throw new StateError('full', 'the disk is full');
    // The results of children are the last that it takes.
    isFull = batch.put?.some(({ key }) => key.includes('!inbox!')) === true;
    return commit(batch);
  };
  await fleet.pass(13);
  expect(isFull).toBe(true);
  a.store.commit = commit;
  await fleet.pass(60);
  const states = await Promise.all(IDS.map((id) => a.sidecar.workflows.get(id)));
  expect(states.map((state) => state?.output)).toEqual(IDS.map(() => 'finished'));
}, 60_000);
