import { expect, test } from 'vitest';
import { localHostsOf } from '../../src/cluster/local-hosts.ts';
import { Membership } from '../../src/cluster/membership.ts';
import { SHARD_COUNT } from '../../src/cluster/shards.ts';
import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { sharedState } from '../../src/index.ts';
import type { StateStore } from '../../src/kit/index.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/index.ts';
import { patientClock } from '../support/clock.ts';
import { RecordingLogger } from '../support/logger.ts';

const context = () => ({ clock: virtualClock(), logger: new RecordingLogger() });

/** How many shards each of two hosts of a store owns in the end. */
async function halves(stores: readonly [StateStore, StateStore]): Promise<readonly number[]> {
  const clock = patientClock();
  const [a, b] = [await join(stores[0], clock), await join(stores[1], clock)];
  await clock.advance('30s');
  return [a, b].map(({ shards }) => {
    const all = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
    return all.filter((shard) => shards.owns(shard)).length;
  });
}

function join(store: StateStore, clock: VirtualClock): Promise<Membership> {
  return Membership.join({
    ...{ store, appId: 'shop', namespace: 'default', clock, logger: new RecordingLogger() },
    ...{ newId: () => crypto.randomUUID(), track: () => () => undefined },
  });
}

test('hosts of one store object find each other there, without a trace for whoever looks at it', async () => {
  const store = new MemoryStore(context());
  const before = Object.keys(store);
  expect(localHostsOf(store)).toBe(localHostsOf(store));
  expect(localHostsOf(store)).not.toBe(localHostsOf(new MemoryStore(context())));
  expect([Object.keys(store), Object.keys({ ...store })]).toEqual([before, before]);
});

test('on a store object that is frozen two hosts own half of the shards each', async () => {
  const store = Object.freeze(new MemoryStore(context()));
  expect(await halves([store, store])).toEqual([32, 32]);
});

test('those who share a store that is frozen find each other all the same', async () => {
  const store = Object.freeze(new MemoryStore(context()));
  const shared = sharedState({ type: 'frozen', open: () => Promise.resolve(store) });
  const [a, b] = [await shared.open(context()), await shared.open(context())];
  expect(localHostsOf(a)).toBe(localHostsOf(b));
  expect(await halves([a, b])).toEqual([32, 32]);
});
