// One life of an application whose operator moves messages to and fro between two queues, as fast as it goes, while
// more are published.
//   P <id>  the publish of <id> was acknowledged
//   M <number>  so many messages were moved
//   Q <topic> <id>  <id> is in the queue at the end
import { durablePubSub, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { last, life, logger, path, say } from './life.mjs';

const sidecar = new Sidecar({
  appId: 'crash',
  components: [durablePubSub('pubsub')],
  state: embeddedState({ path }),
  logger,
});
await sidecar.start();
const [one, other] = ['one', 'other'].map((topic) => ({ pubsubName: 'pubsub', topic, group: 'crash' }));
for (const queue of [one, other]) await sidecar.pubsub.queues.addGroup(queue);
say('ready');

async function publish() {
  for (let count = 0; ; count++) {
    const id = `${life}-${count}`;
    await sidecar.pubsub.publish('pubsub', count % 2 === 0 ? 'one' : 'other', count, { cloudEvent: { id } });
    say(`P ${id}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function move(from, to) {
  for (;;) {
    say(`M ${await sidecar.pubsub.queues.redeliver(from, 'all', { to })}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function tell({ topic, ...queue }) {
  let cursor;
  do {
    const page = await sidecar.pubsub.queues.messagesPage(
      { topic, ...queue },
      { limit: 1_000, ...(cursor && { cursor }) },
    );
    for (const { message } of page.messages) say(`Q ${topic} ${message.id}`);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

if (last) {
  for (const queue of [one, other]) await tell(queue);
  await sidecar.stop();
} else await Promise.all([publish(), move(one, other), move(other, one)]);
