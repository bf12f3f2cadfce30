import { expect, test } from 'vitest';
import { defineWorkflow } from '../../src/index.ts';
import { IDS, leave, left, OUTPUTS, outputs, startAll, states, warnings, web, worker } from '../support/albums.ts';
import { Fleet, type Member } from '../support/fleet.ts';

test('an activity whose hosts die again and again fails', async () => {
  await using fleet = new Fleet();
  const first = await fleet.join({ isApart: true });
  first.sidecar.workflows.register(
    defineWorkflow('album', (ctx) =>
      ctx.callActivity('resize', ctx.instanceId).catch((error: Error) => `${error.name}: ${error.message}`),
    ),
  );
  const dead: Member[] = [];
  for (let count = 1; count <= 3; count++) {
    const { member, ran } = await worker(fleet, () => new Promise(() => undefined), { isApart: true });
    await fleet.pass(8);
    if (count === 1) await first.sidecar.workflows.start('album', undefined, { instanceId: 'flow-0' });
    await fleet.pass(5);
    expect([count, ran]).toEqual([count, ['flow-0']]);
    expect(warnings(member)).toEqual(
      count === 1 ? [] : ['an activity runs again: the process ended during its last run'],
    );
    member.store.pause();
    dead.push(member);
    fleet.members.splice(fleet.members.indexOf(member), 1);
    await fleet.pass(20);
  }
  const { ran } = await worker(fleet, undefined, { isApart: true });
  await fleet.pass(10);
  expect([(await states(first))[0]?.output, ran]).toEqual([expect.stringContaining('3 times in a row'), []]);
  expect(await left(fleet)).toEqual([]);
  for (const member of dead) await member.stop();
});

test('the time that missing code is waited for does not pass while another host has the code', async () => {
  await using fleet = new Fleet();
  const first = await web(fleet, { workflows: { missingCodeTimeout: '10s' } });
  let clock = first.clock;
  const { member, ran } = await worker(
    fleet,
    () => new Promise<void>((resolve) => void clock.setTimeout(resolve, 4_000)),
    {
      workflows: { maxConcurrentActivities: 6 },
    },
  );
  clock = member.clock;
  await fleet.pass(3);
  await startAll(first);
  await fleet.pass(25);
  expect([await outputs(first), ran.length]).toEqual([OUTPUTS, IDS.length]);
  await leave(fleet, member);
  await first.sidecar.workflows.start('album', undefined, { instanceId: 'last' });
  await fleet.pass(9);
  expect((await first.sidecar.workflows.get('last'))?.status).toBe('RUNNING');
  await fleet.pass(4);
  expect((await first.sidecar.workflows.get('last'))?.failure?.message).toContain('"resize" is not registered');
  expect(await left(fleet)).toEqual([]);
});
