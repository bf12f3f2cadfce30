/**
 * Messages on disk: three orders are published while nothing can be shipped, the sidecar stops with all of them
 * unprocessed, starts again on the same directory, and delivers them. The attempts go on counting. Uses a temporary
 * directory and ends by itself. Run with `npx tsx examples/durable.ts`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { durablePubSub, type Logger, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';

interface Order {
  readonly id: number;
}

const ORDERS = 3;
const path = await mkdtemp(join(tmpdir(), 'insidecar-durable-'));
/** The output of this program tells the same as the log would. */
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const startedAt = performance.now();

function tell(what: string): void {
  console.log(`${`${Math.round(performance.now() - startedAt)} ms`.padStart(8)}  ${what}`);
}

/** One life of the service: starts on the directory, receives orders until it has heard of so many, and stops. */
async function live(canShip: boolean, during: (sidecar: Sidecar) => Promise<void>): Promise<void> {
  const sidecar = new Sidecar({
    appId: 'orders',
    components: [durablePubSub('pubsub')],
    state: embeddedState(path),
    logger: quiet,
  });
  await sidecar.start();
  tell('started');
  let open = ORDERS;
  const heardOfAll = new Promise<void>((resolve) => {
    const heard = (what: string): void => {
      tell(what);
      open -= 1;
      if (open === 0) resolve();
    };
    sidecar.events.on('messageDelivered', ({ attempt }) => heard(`  delivered at attempt ${attempt}`));
    if (!canShip) sidecar.events.on('messageRetrying', ({ attempt }) => heard(`  attempt ${attempt} has failed`));
  });
  await sidecar.pubsub.subscribe<Order>(
    'pubsub',
    'orders',
    (event) => {
      tell(`received order ${event.data?.id}: ${canShip ? 'shipped' : 'no lorry today'}`);
      return canShip ? 'SUCCESS' : 'RETRY';
    },
    { retry: { delay: '1s' } },
  );
  await during(sidecar);
  await heardOfAll;
  await sidecar.stop();
  tell('stopped');
}

await live(false, async (sidecar) => {
  for (let id = 1; id <= ORDERS; id++) {
    await sidecar.pubsub.publish<Order>('pubsub', 'orders', { id });
    tell(`published order ${id}: it is on disk`);
  }
});
await live(true, async () => tell('waiting for what the last run has left'));
await rm(path, { recursive: true });
