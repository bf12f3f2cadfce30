// One life of an application with a durable topic: publishes as fast as it can, receives, settles, and says what it did.
//   P <id>  the publish of <id> was acknowledged
//   D <id>  <id> was delivered (attempt in the third word)
//   A <id>  the application answered SUCCESS for it
//   S <id>  the settlement of <id> is recorded
import { durablePubSub, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { last, life, logger, path, say } from './life.mjs';

const sidecar = new Sidecar({
  appId: 'crash',
  components: [durablePubSub('pubsub')],
  state: embeddedState({ path }),
  logger,
});
sidecar.events.on('messageDelivered', ({ messageId }) => say(`S ${messageId}`));
await sidecar.start();

const isOver = async () => {
  const states = await sidecar.pubsub.queues.list();
  return states.every(({ ready, delayed, inFlight }) => ready + delayed + inFlight === 0);
};
await sidecar.pubsub.subscribe(
  'pubsub',
  'orders',
  async (event, { attempt }) => {
    say(`D ${event.id} ${attempt}`);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
    // Every seventh message fails at first, so that there are delayed retries at any moment.
    if (event.data % 7 === 0 && attempt === 1) return 'RETRY';
    say(`A ${event.id}`);
    return 'SUCCESS';
  },
  { concurrency: 20, retry: { delay: 20 } },
);
say('ready');

if (last) {
  while (!(await isOver())) await new Promise((resolve) => setTimeout(resolve, 50));
  await sidecar.stop();
} else {
  const publishers = Array.from({ length: 16 }, async (_, publisher) => {
    for (let count = 0; ; count++) {
      const id = `${life}-${publisher}-${count}`;
      await sidecar.pubsub.publish('pubsub', 'orders', count, { cloudEvent: { id } });
      say(`P ${id}`);
      if (count % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  await Promise.all(publishers);
}
