/**
 * Limits: how many at a time in each process; and of messages, how many in a time and for each key in all processes. Run
 * with `npx tsx examples/tasks/8-limits.ts`.
 */
import { defineSubscription, defineTopic, memoryPubSub, Sidecar } from 'insidecar';

const mails = defineTopic<{ to: string }>('mails');
let running = 0;
let most = 0;
const limits = { concurrency: 2, perKey: 1, rate: { max: 50, per: '1s' } } as const;
const send = defineSubscription(mails, limits, async () => {
  most = Math.max(most, ++running);
  await new Promise((resolve) => setTimeout(resolve, 10));
  running--;
});

const sidecar = new Sidecar({
  appId: 'mailer',
  components: [memoryPubSub('pubsub')],
  jobs: { concurrency: 5 },
  workflows: { maxConcurrentActivities: 20 },
});
sidecar.register(send);
await sidecar.start();
for (let n = 0; n < 20; n++) {
  const to = `user${n % 5}@example.org`;
  await sidecar.pubsub.publish(mails, { to }, { key: to });
}
await sidecar.stop();
console.log(`at most ${most} at a time`);
