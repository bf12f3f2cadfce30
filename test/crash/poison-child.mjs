// One life of an application whose function ends the process when it gets the message `poison`.
//   D <id> <attempt>  <id> was delivered
//   S <id>  the settlement of <id> is recorded
//   L <id> <reason>  <id> is a dead letter
import { durablePubSub, Sidecar } from 'insidecar';
import { embedded } from 'insidecar/embedded';
import { last, life, logger, path, say } from './life.mjs';

const sidecar = new Sidecar({
  appId: 'crash',
  components: [durablePubSub('pubsub')],
  state: embedded({ path }),
  logger,
});
sidecar.events.on('delivered', ({ messageId }) => say(`S ${messageId}`));
await sidecar.start();
const dead = { pubsubName: 'pubsub', topic: 'dead', group: 'crash' };

await sidecar.pubsub.subscribe(
  'pubsub',
  'orders',
  async (event, { attempt }) => {
    say(`D ${event.id} ${attempt}`);
    // The others take long enough to be in flight when it happens.
    await new Promise((resolve) => setTimeout(resolve, event.id === 'poison' ? 50 : 100));
    if (event.id === 'poison') process.kill(process.pid, 'SIGKILL');
  },
  { concurrency: 5, deadLetterTopic: 'dead' },
);
if (life === '0') {
  const ids = Array.from({ length: 20 }, (_, at) => (at === 7 ? 'poison' : `${at}`));
  // Together, in one commit: all are there before the first one can end the process.
  await Promise.all(ids.map((id) => sidecar.pubsub.publish('pubsub', 'orders', id, { cloudEvent: { id } })));
}
say('ready');
const isOver = async () => {
  const states = await sidecar.pubsub.queues();
  return states.every(({ topic, ready, delayed, inFlight }) => topic === 'dead' || ready + delayed + inFlight === 0);
};
while (!(await isOver())) await new Promise((resolve) => setTimeout(resolve, 20));
const { messages } = await sidecar.pubsub.messages(dead).catch(() => ({ messages: [] }));
for (const { message } of messages) say(`L ${message.id} ${message.deadLetter?.reason}`);
await sidecar.stop();
if (!last) process.kill(process.pid, 'SIGKILL');
