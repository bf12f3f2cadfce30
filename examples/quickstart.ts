/**
 * The quickstart: an orders service and a shipping service, each with a sidecar of its own inside this process, and
 * real HTTP requests. Prints what happens to every message, ends with a summary, and exits with 1 when something that
 * should have happened did not. `--serve` keeps it up, with an inspector to look at: `npm start -- --serve`.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expressHandler, keyValueStore, type Logger, memoryPubSub, nodeHandler, Sidecar } from 'insidecar';
import { inspect } from 'insidecar/inspector';
import { asCurl, publishes, send } from './quickstart/publishes.ts';
import { ordersService, shippingService } from './quickstart/services.ts';
import { giveSomethingToSee } from './quickstart/something-to-see.ts';
import { printTable, styled } from './quickstart/terminal.ts';
import { type Happenings, trace } from './quickstart/trace.ts';

const SIDECAR_PORT = 3500;
const ORDERS_PORT = 3000;
const PATIENCE_MS = 15_000;

/** What must have happened at the end, and how often. */
const EXPECTED: readonly (readonly [what: string, happening: string, times: number])[] = [
  ['published over HTTP', 'published orders', 9],
  ['delivered to the shipping service', 'delivered orders', 8],
  ['retries', 'retrying orders', 5],
  ['dead letters', 'dead-lettered orders', 1],
  ['dead letters received', 'delivered orders-dead', 1],
];

/** The trace tells the same as the log would. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

const servers: Server[] = [];

/** Listens on the loopback interface; on any free port when the wanted one is taken. */
async function listen(listener: RequestListener, wantedPort: number): Promise<string> {
  const server = createServer(listener);
  try {
    await once(server.listen(wantedPort, '127.0.0.1'), 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    console.log(`port ${wantedPort} is taken: using a free one`);
    await once(server.listen(0, '127.0.0.1'), 'listening');
  }
  servers.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function untilAllHappened(happenings: Happenings): Promise<void> {
  const givenUpAt = performance.now() + PATIENCE_MS;
  const isDone = (): boolean => EXPECTED.every(([, key, times]) => (happenings.get(key) ?? 0) >= times);
  while (!isDone() && performance.now() < givenUpAt) await sleep(20);
}

function summarise(happenings: Happenings): boolean {
  const rows = EXPECTED.map(([what, key, times]) => {
    const seen = happenings.get(key) ?? 0;
    return [what, String(times), String(seen), seen === times ? 'ok' : 'WRONG'];
  });
  console.log(`\n${styled('bold', 'Summary')}`);
  printTable([['', 'expected', 'seen', ''], ...rows], (row) => (row.at(-1) === 'ok' ? 'green' : 'red'));
  return rows.every((row) => row.at(-1) === 'ok');
}

const serve = process.argv.includes('--serve');
const shipping = shippingService();

// Both sidecars use one component: each app ID is a group that receives every message of the topics it subscribes to.
const pubsub = memoryPubSub('pubsub');
const ordersSidecar = new Sidecar({ appId: 'orders', components: [pubsub, keyValueStore('store')], logger: quiet });
const shippingSidecar = new Sidecar({
  appId: 'shipping',
  app: { listener: shipping },
  components: [pubsub],
  logger: quiet,
});
const sidecars = [ordersSidecar, shippingSidecar];
const happenings = trace(sidecars);
await Promise.all(sidecars.map((sidecar) => sidecar.start()));

let sidecarUrl = '';
const token = process.env['INSPECTOR_TOKEN'] ?? randomUUID();
const inspector = serve ? expressHandler(inspect(sidecars, { token, record: 'always' })) : undefined;
const orders = ordersService(() => sidecarUrl, inspector);
sidecarUrl = await listen(nodeHandler(ordersSidecar), serve ? SIDECAR_PORT : 0);
const ordersUrl = await listen(orders, serve ? ORDERS_PORT : 0);

console.log(`orders service ${ordersUrl}, its sidecar ${sidecarUrl}`);
console.log(`\n${styled('bold', 'a customer orders; the service publishes')}\n${styled('dim', 'POST /orders')}`);
const statuses = [
  await fetch(`${ordersUrl}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"id":"customer"}',
  }).then(({ status }) => status),
];
for (const publish of publishes) statuses.push(await send(sidecarUrl, publish));
await untilAllHappened(happenings);
const isGood = summarise(happenings) && statuses.every((status) => status === 202 || status === 204);
console.log(isGood ? styled('green', '\nEverything happened as it should.') : styled('red', '\nSomething went wrong.'));

if (serve) {
  await giveSomethingToSee(ordersSidecar);
  console.log(`\nStill up; stop with Ctrl+C. Try:\n`);
  for (const publish of publishes)
    console.log(`${styled('dim', `# ${publish.title}`)}\n${asCurl(sidecarUrl, publish)}`);
  console.log(`${styled('dim', '# what the sidecars know')}\ncurl ${sidecarUrl}/v1.0/metadata`);
  console.log(`\n${styled('bold', 'Inspector')}: ${ordersUrl}/inspector/?token=${token}`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}
for (const server of servers) {
  server.close();
  server.closeAllConnections();
}
await Promise.all(sidecars.map((sidecar) => sidecar.stop()));
process.exitCode = isGood ? 0 : 1;
