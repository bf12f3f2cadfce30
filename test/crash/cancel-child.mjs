// One life of an application that cancels its workflows: starts as many as it can, and says what it did.
//   S <id>              the start of workflow <id> was acknowledged
//   C <id>              its cancellation was acknowledged
// and in the last life, when all were canceled and are over
//   R <id> <status> <cancellations> <undone>   how it ended, and how often its history has these
import { defineActivity, defineWorkflow, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { last, life, logger, path, say } from './life.mjs';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const reserve = defineActivity('reserve', () => undefined);
const release = defineActivity('release', () => sleep(Math.random() * 20));
const room = defineWorkflow('room', async (ctx) => {
  await ctx.callActivity(reserve);
  try {
    await ctx.waitForEvent('never');
  } finally {
    await ctx.callActivity(release);
    await ctx.sleep(Math.floor(ctx.random() * 100));
  }
});
const trip = defineWorkflow('trip', async (ctx) => {
  await ctx.callActivity(reserve);
  try {
    await Promise.all([ctx.sleep('100h'), ctx.callChild(room, undefined, { instanceId: `${ctx.instanceId}-room` })]);
  } finally {
    await ctx.callActivity(release);
  }
});

const sidecar = new Sidecar({ appId: 'crash', state: embeddedState({ path }), logger, workflows: { maxCrashes: 0 } });
const { workflows } = sidecar;
workflows.register(reserve, release, room, trip);
await sidecar.start();
say('ready');

if (last) {
  const { instances } = await workflows.listPage({ name: 'trip', limit: 1_000 });
  for (const { instanceId } of instances) await workflows.cancel(instanceId);
  for (const { instanceId } of instances)
    for (const id of [instanceId, `${instanceId}-room`]) {
      const state = await stateAtEnd(id);
      const history = state === undefined ? [] : await workflows.history(id);
      const canceled = history.filter(({ type }) => type === 'cancelRequested').length;
      const calls = history.filter(({ type, name }) => type === 'activityScheduled' && name === 'release');
      const undone = calls.filter(({ sequence }) =>
        history.some((event) => event.type === 'activityCompleted' && event.sequence === sequence),
      ).length;
      if (state !== undefined) say(`R ${id} ${state.status} ${canceled} ${undone}`);
    }
  await sidecar.stop();
} else
  for (let count = 0; count < 150; count++) {
    const run = await workflows.start(trip, undefined, { instanceId: `${life}-${count}` });
    say(`S ${run.instanceId}`);
    await sleep(Math.random() * 10);
    if (count % 3 === 0) continue;
    await run.cancel();
    say(`C ${run.instanceId}`);
  }

/** A trip that was canceled before it began has no room. */
async function stateAtEnd(id) {
  if ((await workflows.get(id)) === undefined) return undefined;
  return workflows.run(id).ended({ timeout: 40_000 });
}
