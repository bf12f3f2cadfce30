// One life of an application whose function ends the process when it gets the message `poison`.
//   D <id> <attempt>  <id> was delivered
//   S <id>  the settlement of <id> is recorded
//   L <id> <reason>  <id> is a dead letter
import { setTimeout as sleep } from 'node:timers/promises';
import { durablePubSub, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { last, life, logger, path, say } from './life.mjs';

const sidecar = new Sidecar({
  appId: 'crash',
  components: [durablePubSub('pubsub')],
  state: embeddedState({ path }),
  logger,
});
let [returned, settled, poisonIsHere] = [0, 0, false];
sidecar.events.on('messageDelivered', ({ messageId }) => {
  say(`S ${messageId}`);
  settled++;
});
await sidecar.start();
const dead = { pubsubName: 'pubsub', topic: 'dead', group: 'crash' };

await sidecar.pubsub.subscribe(
  'pubsub',
  'orders',
  async (event, { attempt }) => {
    say(`D ${event.id} ${attempt}`);
    if (event.id === 'poison') {
      poisonIsHere = true;
      // A settlement that was recorded, and not said yet, would never be said.
      while (settled < returned) await sleep(1);
      process.kill(process.pid, 'SIGKILL');
    }
    // The others are in flight when it happens.
    await sleep(100);
    if (poisonIsHere) await new Promise(() => {});
    returned++;
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
  const states = await sidecar.pubsub.queues.list();
  return states.every(({ topic, ready, delayed, inFlight }) => topic === 'dead' || ready + delayed + inFlight === 0);
};
while (!(await isOver())) await sleep(20);
const { messages } = await sidecar.pubsub.queues.messagesPage(dead).catch(() => ({ messages: [] }));
for (const { message } of messages) say(`L ${message.id} ${message.deadLetter?.reason}`);
await sidecar.stop();
if (!last) process.kill(process.pid, 'SIGKILL');
