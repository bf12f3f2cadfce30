// The workflows of the hosts: three activities, a timer, an event from another host and a child. Of `n` they make
// n + 1 + 10 + 100 + 1,000.
import { setTimeout as sleep } from 'node:timers/promises';
import { defineActivity, defineWorkflow } from 'insidecar';

const add = defineActivity('add', async ({ sum, by }, { attempt }) => {
  await sleep(Math.random() * 4);
  // So that there are retries at any moment.
  if (sum % 5 === 0 && by === 1 && attempt === 1) throw new Error('not yet');
  return sum + by;
});
const half = defineWorkflow('half', async (ctx, sum) => ctx.callActivity(add, { sum, by: 100 }));
/** The workflow that hosts start. */
export const flow = defineWorkflow('flow', async (ctx, n) => {
  const one = await ctx.callActivity(add, { sum: n, by: 1 }, { retry: { maxRetries: 4, delay: 5 } });
  await ctx.sleep(Math.floor(ctx.random() * 400));
  const { value } = await ctx.waitForEvent('go');
  const two = await ctx.callActivity(add, { sum: one, by: value });
  return ctx.callActivity(add, { sum: await ctx.callChild(half, two), by: 1_000 });
});

/** Registers them. */
export function register(workflows) {
  workflows.register(add, half, flow);
}

/**
 * What the history of an instance has: `1` when each activity has one result, else `<sequence>:<results>` of each that
 * has not; and the tokens of its events in their order, or `-`.
 */
export async function resultsOf(workflows, instanceId) {
  const results = new Map();
  const tokens = [];
  for (const { type, sequence, data } of await workflows.history(instanceId)) {
    if (type === 'activityScheduled') results.set(sequence, 0);
    if (type === 'activityCompleted' || type === 'activityFailed')
      results.set(sequence, (results.get(sequence) ?? 100) + 1);
    if (type === 'eventRaised') tokens.push(data.token);
  }
  const wrong = [...results].filter(([, count]) => count !== 1);
  return [wrong.length === 0 ? '1' : wrong.map((entry) => entry.join(':')).join(), tokens.join() || '-'];
}
