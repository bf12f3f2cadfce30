import { expect, test } from 'vitest';
import { type Duration, defineJob, defineWorkflow, durablePubSub } from '../../src/index.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import { patientClock } from '../support/clock.ts';
import { KeptStore } from '../support/kept-store.ts';
import { TestSidecar } from '../support/sidecar.ts';

const wait = defineWorkflow('wait', async (ctx, time: Duration) => {
  await ctx.sleep(time);
  return 'over';
});
const QUEUE = { pubsubName: 'pubsub', topic: 'orders', group: 'shop' };

/** A store with a message, jobs and workflows of an application that is stopped: most of it is due in ten hours. */
async function stored(clock: VirtualClock): Promise<KeptStore> {
  const store = new KeptStore();
  await using first = new TestSidecar({ clock, state: store, components: [durablePubSub('pubsub')] });
  const { sidecar } = first;
  sidecar.workflows.register(wait);
  await first.start();
  await sidecar.pubsub.queues.addGroup(QUEUE);
  await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
  for (const name of ['paused', 'deleted', 'due']) await sidecar.jobs.schedule(name, { dueTime: '10h' });
  for (const instanceId of ['waits', 'ended']) await sidecar.workflows.start(wait, '10h', { instanceId });
  await sidecar.workflows.start(wait, '100h', { instanceId: 'held' });
  await clock.settled();
  return store;
}

test('at rest nothing runs, whatever is due; what is done takes effect when the application runs', async () => {
  const clock = patientClock();
  const state = await stored(clock);
  const ran: string[] = [];
  const options = { clock, state, components: [durablePubSub('pubsub')] };

  const resting = new TestSidecar(options);
  resting.sidecar.register(defineJob('*', (_, { name }) => void ran.push(name)));
  await resting.sidecar.startAtRest();
  const { pubsub, jobs, workflows } = resting.sidecar;
  await jobs.pause('paused');
  await jobs.delete('deleted');
  await workflows.pause('held');
  await workflows.terminate('ended');
  await clock.advance('24h');
  await clock.settled();
  expect(ran).toEqual([]);
  expect((await pubsub.queues.list()).map(({ ready, inFlight }) => ({ ready, inFlight }))).toEqual([
    { ready: 1, inFlight: 0 },
  ]);
  expect((await jobs.listPage()).jobs.map(({ name, isPaused, runs }) => ({ name, isPaused, runs }))).toEqual([
    { name: 'due', isPaused: false, runs: 0 },
    { name: 'paused', isPaused: true, runs: 0 },
  ]);
  const before = (await workflows.listPage()).instances.map(({ instanceId, status }) => [instanceId, status]);
  expect(before).toEqual([
    ['ended', 'TERMINATED'],
    ['held', 'RUNNING'],
    ['waits', 'RUNNING'],
  ]);
  await resting.stop();

  await using running = new TestSidecar(options);
  running.sidecar.workflows.register(wait);
  running.sidecar.register(defineJob('*', (_, { name }) => void ran.push(name)));
  await running.start();
  await clock.settled();
  expect(ran).toEqual(['due']);
  const after = (await running.sidecar.workflows.listPage()).instances.map((one) => [one.instanceId, one.status]);
  expect(after).toEqual([
    ['ended', 'TERMINATED'],
    ['held', 'SUSPENDED'],
    ['waits', 'COMPLETED'],
  ]);
});
