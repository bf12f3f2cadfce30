import { expect, test, vi } from 'vitest';
import { memoryPubSub, Sidecar } from '../../../../src/index.ts';
import { RecordingLogger } from '../../../support/logger.ts';

const MESSAGES = 12;
/** For each element it goes through all of them, until its steps are used up. */
const LONG = 'event.data.items.all(x, event.data.items.exists_one(y, x == y))';
const ITEMS = Array.from({ length: 1_000 }, (_, item) => item);

/** The processor's time, in microseconds, not the clock's: other programs may keep this one from running for long. */
function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** The longest time in which nothing else was done, of the time that all of it took. */
async function longestShare(work: () => Promise<void>): Promise<number> {
  const startedAt = cpuTime();
  let [last, longest, isDone] = [startedAt, 0, false];
  const look = (): void => {
    const now = cpuTime();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isDone = true;
  look();
  return longest / (cpuTime() - startedAt);
}

interface Bulk {
  readonly entries?: readonly { readonly entryId: string }[];
}

test.each([
  { what: 'one by one', bulkSubscribe: { enabled: false } },
  { what: 'in bulk', bulkSubscribe: { enabled: true, maxMessagesCount: MESSAGES, maxAwaitDuration: 20 } },
])(
  'messages with long rules that arrive together, $what, leave the event loop to others between them',
  async ({ bulkSubscribe }) => {
    let delivered = 0;
    const receive = async (request: Request): Promise<Response> => {
      if (request.url.endsWith('/subscribe')) return Response.json([]);
      const { entries } = (await request.json()) as Bulk;
      delivered += entries?.length ?? 1;
      return Response.json({ statuses: entries?.map(({ entryId }) => ({ entryId, status: 'SUCCESS' })) });
    };
    await using sidecar = new Sidecar({
      appId: 'shop',
      logger: new RecordingLogger(),
      components: [memoryPubSub('pubsub')],
      app: { fetch: receive },
      subscriptions: [
        {
          pubsubName: 'pubsub',
          topic: 'orders',
          routes: { rules: [{ match: LONG, path: '/long' }], default: '/other' },
        },
      ].map((subscription) => ({ ...subscription, bulkSubscribe })),
    });
    await sidecar.start();
    const share = await longestShare(async () => {
      for (let message = 0; message < MESSAGES; message++)
        void sidecar.pubsub.publish('pubsub', 'orders', { items: ITEMS });
      await vi.waitFor(() => expect(delivered).toBe(MESSAGES), { timeout: 20_000 });
    });
    expect(share).toBeLessThan(0.5);
  },
);
