/**
 * The inspector in the server of an Express application: a page to look at its sidecar and to operate it, and the
 * management API behind it. An order fails for good; the API tells why, and delivers it again. Run with
 * `npx tsx examples/inspector.ts`, or `--serve` to keep it up and to open the page.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expressHandler, type Logger, memoryPubSub, Sidecar } from 'insidecar';
import { inspect } from 'insidecar/inspector';

const token = process.env['INSPECTOR_TOKEN'] ?? randomUUID();
/** What fails is told by the API. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')], logger: quiet });

const app = express();
// Before the body parsers. Everybody who has the token may look and act; `authorize` asks your own users instead.
app.use('/inspector', expressHandler(inspect(sidecar, { token })));
app.use(express.json());

let hasBank = false;
await sidecar.start();
await sidecar.pubsub.subscribe<{ id: number }>(
  'pubsub',
  'orders',
  ({ data }) => {
    if (!hasBank) throw new Error('the bank does not answer');
    console.log(`order ${data?.id} is paid`);
  },
  { deadLetterTopic: 'orders-failed', retry: { maxRetries: 1, delay: 10 } },
);
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const inspector = `http://127.0.0.1:${(server.address() as AddressInfo).port}/inspector/`;

const isDead = new Promise((resolve) => sidecar.events.once('messageDeadLettered', resolve));
await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
await isDead;

/** Calls the management API, which the page and the command use, too. */
async function api<Reply>(path: string, body?: object): Promise<Reply> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'insidecar-inspector': '1' };
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
  return (await (await fetch(`${inspector}api/v1/${path}`, init)).json()) as Reply;
}

interface DeadLetters {
  readonly messages: readonly {
    readonly queue: object;
    readonly key: string;
    readonly deadLetter: { reason: string };
  }[];
}

const { messages } = await api<DeadLetters>('dead-letters');
for (const { deadLetter } of messages) console.log(`failed: ${deadLetter.reason}`);

hasBank = true;
if (process.argv.includes('--serve')) {
  console.log(`Redeliver it: ${inspector}?token=${token}\nStop with Ctrl+C`);
} else {
  const isDelivered = new Promise((resolve) => sidecar.events.once('messageDelivered', resolve));
  for (const { queue, key } of messages) await api('queues/redeliver', { queue, selection: [key] });
  await isDelivered;
  server.close();
  server.closeAllConnections();
  await sidecar.stop();
}
