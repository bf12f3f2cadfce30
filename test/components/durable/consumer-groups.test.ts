import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StoreView } from '../../../src/cluster/store-view.ts';
import { ConsumerGroups } from '../../../src/components/durable/consumer-groups.ts';
import { Layout } from '../../../src/components/durable/layout.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import type { Batch, KeyedEntry, Scan } from '../../../src/kit/index.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';

const nothing = { onGroup: () => undefined, onGone: () => undefined };
const memory = (): MemoryStore => new MemoryStore({ clock: systemClock, logger: new RecordingLogger() });
const groupsIn = (store: MemoryStore | StoreView): ConsumerGroups =>
  new ConsumerGroups(store, new Layout('pubsub'), nothing);

/** A store of which the test decides when what was read arrives. */
class LateReads extends StoreView {
  arrival: Promise<void> = Promise.resolve();

  override async scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    const found = await super.scan(scan);
    await this.arrival;
    return found;
  }
}

test('groups that are added while an older read of the groups is under way are all added', async () => {
  const store = memory();
  const late = new LateReads(store);
  const groups = groupsIn(late);
  let arrive = (): void => undefined;
  late.arrival = new Promise((resolve) => {
    arrive = resolve;
  });
  const old = groups.read();
  await groupsIn(store).add({ topic: 'orders', group: 'another process' }, false);
  const adding = ['a', 'b', 'c'].map((group) => groups.add({ topic: 'orders', group }, false));
  // All of them are refused before what was read arrives.
  await new Promise(setImmediate);
  arrive();
  await old;
  expect(await Promise.all(adding)).toEqual([true, true, true]);
  expect((await store.scan({ from: '' })).length).toBe(5);
});

/** A store of which a schedule decides when calls arrive and when they are answered. */
class Scheduled extends StoreView {
  readonly #turn: () => Promise<unknown>;

  constructor(store: MemoryStore, scheduler: fc.Scheduler) {
    super(store);
    this.#turn = () => scheduler.schedule(Promise.resolve());
  }

  override scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    return this.#inTurn(() => super.scan(scan));
  }

  override commit(batch: Batch): Promise<number> {
    return this.#inTurn(() => super.commit(batch));
  }

  async #inTurn<T>(call: () => Promise<T>): Promise<T> {
    await this.#turn();
    try {
      return await call();
    } finally {
      await this.#turn();
    }
  }
}

test('many processes add groups at the same time, however slow the store is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const store = memory();
      const processes = Array.from({ length: 3 }, () => groupsIn(new Scheduled(store, scheduler)));
      // A process reads the groups now and then, and may be at it.
      const read = processes.map((groups) => groups.read());
      const add = (groups: ConsumerGroups, topic: string): Promise<boolean> =>
        groups.add({ topic, group: 'shop' }, false);
      const all = Promise.allSettled(processes.flatMap((groups) => ['a', 'b', 'c'].map((topic) => add(groups, topic))));
      await scheduler.waitFor(Promise.all([all, ...read]));
      const failed = (await all).filter(({ status }) => status === 'rejected');
      expect(failed).toEqual([]);
      expect((await all).filter((one) => one.status === 'fulfilled' && one.value).length).toBe(3);
    }),
    { numRuns: 300 },
  );
});
