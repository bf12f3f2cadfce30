// A process that consumes from a broker, for tests that kill it: broker-faults.ts. It notes what it does in a file, each
// line complete when the call returns.
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Sidecar } from '../../dist/index.mjs';

const { entry, factory, options, appId, topic, log, handlerMs, failsFirst, concurrency } = JSON.parse(process.argv[2]);
const { [factory]: makePubSub } = await import(`../../dist/${entry}.mjs`);

const file = openSync(log, 'a');
const note = (what, id = '-', attempt = 0) =>
  writeSync(file, `${what} ${id} ${attempt} ${process.pid} ${Date.now()}\n`);
const complain = (details, message) => process.stderr.write(`${message} ${JSON.stringify(details)}\n`);
const logger = { debug: () => {}, info: () => {}, warn: complain, error: complain };

const sidecar = new Sidecar({ appId, components: [makePubSub('pubsub', options)], logger });
sidecar.events.on('messageDelivered', ({ messageId, attempt }) => note('settled', messageId, attempt));
process.on('SIGTERM', () => void sidecar.stop().then(() => process.exit(0)));
await sidecar.start();

async function handle({ id }, { attempt }) {
  note('began', id, attempt);
  if (handlerMs > 0) await sleep(handlerMs);
  if (attempt <= failsFirst) throw new Error('refused on purpose');
  note('done', id, attempt);
}

for (;;) {
  try {
    await sidecar.pubsub.subscribe('pubsub', topic, handle, { concurrency, retry: { delay: 50 } });
    break;
  } catch (error) {
    complain({ message: error.message }, 'not subscribed yet');
    await sleep(200);
  }
}
note('ready');
