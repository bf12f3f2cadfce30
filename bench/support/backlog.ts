/** Fills a durable queue with messages, or starts on a full one and tells how long that took. For `bench/durable.ts`. */
import { loadBuilt, loadEmbedded } from './built.ts';
import { PAYLOAD } from './payload.ts';

const [task, path = '', count = '0'] = process.argv.slice(2);
const { Sidecar, durablePubSub } = await loadBuilt();
const { embeddedState } = await loadEmbedded();
const BATCH = 1_000;

const startedAt = performance.now();
const sidecar = new Sidecar({ appId: 'bench', components: [durablePubSub('pubsub')], state: embeddedState({ path }) });
await sidecar.start();
const startMs = performance.now() - startedAt;
const reply: Record<string, number> = { startMs };
let first = (): void => undefined;
const received = new Promise<void>((resolve) => {
  first = resolve;
});
const subscription = await sidecar.pubsub.subscribe('pubsub', 'orders', () => first());
if (task === 'fill') {
  await subscription.close();
  for (let done = 0; done < Number(count); done += BATCH) {
    const entries = Array.from({ length: BATCH }, (_, index) => ({
      entryId: String(index),
      event: PAYLOAD,
      contentType: 'application/json',
    }));
    await sidecar.pubsub.publishBulk('pubsub', 'orders', entries);
  }
} else {
  await received;
  reply['firstMs'] = performance.now() - startedAt;
  reply['rssMb'] = process.memoryUsage.rss() / 1024 / 1024;
}
process.send?.(reply, () => process.exit(0));
