/** Limits of how many at a time, for each process. Run with `npx tsx examples/tasks/8-limits.ts`. */
import { defineSubscription, defineTopic, memoryPubSub, Sidecar } from 'insidecar';

const mails = defineTopic<{ to: string }>('mails');
let running = 0;
let most = 0;
const send = defineSubscription(mails, { concurrency: 2 }, async () => {
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
for (let n = 0; n < 20; n++) await sidecar.pubsub.publish(mails, { to: `user${n}@example.org` });
await sidecar.stop();
console.log(`at most ${most} at a time`);
