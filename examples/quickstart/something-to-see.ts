import { defineActivity, defineJob, defineWorkflow, type Sidecar } from 'insidecar';

const charge = defineActivity('charge', (order: { id: number }) => {
  if (order.id === 3) throw new Error('the card of order 3 has expired');
  return `receipt ${order.id}`;
});
const checkout = defineWorkflow('checkout', async (context, order: { id: number }) => {
  const receipt = await context.callActivity(charge, order, { retry: { maxRetries: 2, delay: 200 } });
  await context.sleep('1s');
  return receipt;
});

/** Payments that fail, a report that fails, and checkouts of which one fails: so that the inspector shows something. */
export async function giveSomethingToSee({ pubsub, jobs, workflows }: Sidecar): Promise<void> {
  await pubsub.subscribe<{ id: number; amount: number }>(
    'pubsub',
    'payments',
    ({ data }) => {
      if (data !== undefined && data.amount > 100) throw new Error('the bank does not answer');
    },
    { deadLetterTopic: 'payments-failed', retry: { maxRetries: 2, delay: 200 } },
  );
  for (const [id, amount] of [10, 250, 30, 999].entries()) await pubsub.publish('pubsub', 'payments', { id, amount });

  const retry = { maxRetries: 2, delay: '5s', factor: 1 } as const;
  await jobs.register(
    defineJob('report', { schedule: '@every 1m', dueTime: '1s', retry }, () => {
      throw new Error('the printer has no paper');
    }),
  );
  await jobs.register(defineJob('backup', { schedule: 'TZ=Europe/Rome 0 30 2 * * *' }, () => undefined));

  for (const id of [1, 2, 3]) await workflows.start(checkout, { id }, { instanceId: `order-${id}` });
}
