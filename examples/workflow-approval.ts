/**
 * A person decides: an expense waits for an approval, which comes over HTTP, and is escalated when none has come in
 * three days. A virtual clock lets the days pass at once. Run with `npx tsx examples/workflow-approval.ts`.
 */
import { defineActivity, defineWorkflow, EventTimeoutError, Sidecar } from 'insidecar';
import { testRequest, virtualClock } from 'insidecar/testing';

interface Expense {
  readonly by: string;
  readonly amount: number;
}

interface Decision {
  readonly approved: boolean;
  readonly decidedBy: string;
}

const notify = defineActivity('notify', (text: string) => console.log(`  mail: ${text}`));

const approve = defineWorkflow('approve', async (ctx, { by, amount }: Expense) => {
  if (amount < 50) return 'approved without asking';
  await ctx.callActivity(notify, `please decide on ${amount} for ${by}: ${ctx.instanceId}`);
  ctx.setCustomStatus('waiting for a decision');
  try {
    const { approved, decidedBy } = await ctx.waitForEvent<Decision>('decision', { timeout: '3d' });
    return `${approved ? 'approved' : 'refused'} by ${decidedBy}`;
  } catch (error) {
    if (!(error instanceof EventTimeoutError)) throw error;
    await ctx.callActivity(notify, `nobody has decided on ${amount} for ${by}`);
    return 'escalated';
  }
});

const clock = virtualClock();
const sidecar = new Sidecar({ appId: 'expenses', clock });
sidecar.workflows.register(approve, notify);
await sidecar.start();

const start = (instanceId: string, expense: Expense) => sidecar.workflows.start(approve, expense, { instanceId });
const decide = (instanceId: string, decision: Decision) =>
  sidecar.handle(testRequest('POST', `/v1.0/workflows/sidecar/${instanceId}/raiseEvent/decision`, { body: decision }));

await start('coffee', { by: 'Ada', amount: 5 });
await start('train', { by: 'Ada', amount: 90 });
await start('hotel', { by: 'Bob', amount: 300 });
await start('yacht', { by: 'Eve', amount: 9_000 });
await clock.advance('24h');
await decide('train', { approved: true, decidedBy: 'Grace' });
await decide('yacht', { approved: false, decidedBy: 'Grace' });
await clock.advance('3d');

for (const instanceId of ['coffee', 'train', 'hotel', 'yacht']) {
  const expense = await sidecar.workflows.get(instanceId);
  console.log(`${instanceId}: ${expense?.output}`);
}
await sidecar.stop();
