import { expect, test } from 'vitest';
import { durablePubSub } from '../../../src/components/durable/durable-pubsub.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import type { PubSubComponent } from '../../../src/components/pubsub.ts';
import { acknowledge, Collector, textMessage } from '../../../src/kit/collector.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { virtualClock } from '../../../src/testing/virtual-clock.ts';
import { RecordingLogger } from '../../support/logger.ts';

const ORIGIN = {
  topic: 'orders',
  group: 'shop',
  reason: 'declined',
  attempts: 1,
  deadAt: Date.parse('2026-01-01T00:00:00Z'),
};
const LETTERS = Array.from({ length: 1_200 }, (_, number) => String(number));
const clock = virtualClock();
const logger = new RecordingLogger();

/** A store from which a process is cut off after some commits, as by a kill. */
function cutOffAfter(memory: MemoryStore, commits: number): StateStore {
  let left = commits;
  return {
    failure: undefined,
    isExclusive: true,
    get: (key) => memory.get(key),
    scan: (scan) => memory.scan(scan),
    commit: (batch) => (left-- > 0 ? memory.commit(batch) : Promise.reject(new Error('killed'))),
    watch: (prefix, onChange) => memory.watch(prefix, onChange),
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

const begin = (state: StateStore): Promise<PubSubComponent> =>
  durablePubSub('pubsub').open({ appId: 'shop', clock, logger, state, track: () => () => undefined });

async function withLetters(): Promise<MemoryStore> {
  const memory = new MemoryStore({ clock, logger });
  const component = await begin(memory);
  await component.publish(LETTERS.map((text) => textMessage('dead', text, { deadLetter: ORIGIN })));
  await component.close();
  return memory;
}

const queueKeys = async (memory: MemoryStore): Promise<readonly string[]> =>
  (await memory.scan({ from: 'pubsub!' })).map(({ key }) => key).filter((key) => /!(ready|delayed|group)!/.test(key));

test.each([1, 2, 3, 4, 5])(
  'a kill at commit %i of a subscription neither loses nor doubles what was kept',
  async (commits) => {
    const memory = await withLetters();
    const killed = await begin(cutOffAfter(memory, commits));
    await Collector.join(killed, { topic: 'dead', group: 'audit', paused: true }).catch(() => undefined);
    const next = await begin(memory);
    const consumer = await Collector.join(next, { topic: 'dead', group: 'audit', maxInFlight: 1 }, acknowledge);
    await consumer.expect(LETTERS.length);
    expect(consumer.texts).toEqual(LETTERS);
    await next.close();
    expect(await queueKeys(memory)).toHaveLength(1);
  },
);

test.each([0, 1, 2, 3])(
  'a removal that is cut off after %i commits is brought to its end, or has not begun',
  async (commits) => {
    const memory = await withLetters();
    const killed = await begin(cutOffAfter(memory, commits));
    await expect(killed.queues?.removeGroup({ topic: 'dead', group: 'shop' })).rejects.toThrow('killed');
    const next = await begin(memory);
    await clock.advance('2m');
    expect(await queueKeys(memory)).toHaveLength(commits === 0 ? LETTERS.length + 1 : 0);
    await next.close();
  },
);
