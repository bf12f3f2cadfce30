// One life of an application with workflows on disk: starts as many as it can, and says what it did.
//   S <id>            the start of workflow <id> was acknowledged
//   A <id> <number>   an activity of it has run
// and in the last life, when all are over
//   R <id> <status> <output> <results>   how it ended, and how many results its history has for each activity
import { defineActivity, defineWorkflow, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { last, life, logger, path, say } from './life.mjs';

const STARTERS = 64;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const add = defineActivity('add', async ({ sum, by }, { instanceId, activityId, attempt }) => {
  if (Math.random() < 0.3) await sleep(Math.random() * 4);
  // Every seventh fails at first, so that there are retries at any moment.
  if (by === 3 && instanceId.endsWith('7') && attempt === 1) throw new Error('not yet');
  say(`A ${instanceId} ${activityId}`);
  return sum + by;
});
const half = defineWorkflow('half', async (ctx, sum) => ctx.callActivity(add, { sum, by: 10 }));
const flow = defineWorkflow('flow', async (ctx, { sum, round }) => {
  const one = await ctx.callActivity(add, { sum, by: 1 });
  // So that hundreds wait for time at any moment.
  await ctx.sleep(Math.floor(ctx.random() * 600));
  const retry = { maxRetries: 4, delay: 5 };
  const both = await Promise.all([2, 3].map((by) => ctx.callActivity(add, { sum: 0, by }, { retry })));
  const child = await ctx.callChild(half, 0);
  const next = both.reduce((total, value) => total + value, one) + child;
  return round === 1 ? next : ctx.continueAsNew({ sum: next, round: round + 1 });
});

// Kills that hit an activity by chance must not count as its fault.
const sidecar = new Sidecar({ appId: 'crash', state: embeddedState({ path }), logger, workflows: { maxCrashes: 0 } });
const { workflows } = sidecar;
workflows.register(add, half, flow);
await sidecar.start();
say('ready');

if (last) {
  // Children come while their parents go on: they are there when all others are over.
  await forEach(({ instanceId }) => workflows.run(instanceId).ended({ timeout: 100_000 }));
  await forEach(async ({ instanceId, status, output }) =>
    say(`R ${instanceId} ${status} ${output} ${await resultsOf(instanceId)}`),
  );
  await sidecar.stop();
} else {
  const starters = Array.from({ length: STARTERS }, async (_, starter) => {
    // So many that thousands are under way, and few enough for one life to end them all.
    for (let count = 0; count < 3; count++) {
      const instanceId = `${life}-${starter}-${count}`;
      await workflows.start(flow, { sum: 0, round: 0 }, { instanceId });
      say(`S ${instanceId}`);
      await sleep(Math.random() * 100);
    }
  });
  await Promise.all(starters);
}

/** Every instance, page by page. */
async function forEach(look) {
  let cursor;
  do {
    const page = await workflows.listPage({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    for (const instance of page.instances) await look(instance);
    ({ cursor } = page);
  } while (cursor !== undefined);
}

/** `1` when each activity has one result: `<number>:<results>` for each that has another number of them. */
async function resultsOf(instanceId) {
  const results = new Map();
  for (const { type, sequence } of await workflows.history(instanceId)) {
    if (type === 'activityScheduled') results.set(sequence, 0);
    if (type === 'activityCompleted' || type === 'activityFailed')
      results.set(sequence, (results.get(sequence) ?? 100) + 1);
  }
  const wrong = [...results].filter(([, count]) => count !== 1);
  return wrong.length === 0 ? '1' : wrong.map((entry) => entry.join(':')).join();
}
