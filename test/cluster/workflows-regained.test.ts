import { expect, test } from 'vitest';
import { defineActivity, defineWorkflow, type Sidecar } from '../../src/index.ts';
import { Fleet } from '../support/fleet.ts';

const IDS = Array.from({ length: 20 }, (_, index) => `flow-${index}`);

test('an instance whose shard goes and comes back while an activity runs is looked after again', async () => {
  await using fleet = new Fleet();
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const register = ({ workflows }: Sidecar): void =>
    workflows.register(
      defineActivity('hold', () => held),
      defineWorkflow('flow', async (ctx) => {
        void ctx.callActivity('hold');
        await ctx.sleep('2m');
        return 'awake';
      }),
    );
  const a = await fleet.join();
  register(a.sidecar);
  await fleet.pass(2);
  for (const instanceId of IDS) await a.sidecar.workflows.start('flow', undefined, { instanceId });
  // The other host has no code: it gets shards, and leaves what is in them as it is.
  const b = await fleet.join();
  await fleet.pass(25);
  fleet.members.splice(fleet.members.indexOf(b), 1);
  await b.stop();
  await fleet.pass(5);
  release();
  await fleet.pass(150);
  const states = await Promise.all(IDS.map((id) => a.sidecar.workflows.get(id)));
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
