import { describe, expect, test } from 'vitest';
import { keyValueStore } from '../../../src/components/key-value/index.ts';
import { KeyValueLayout } from '../../../src/components/key-value/layout.ts';
import type { KeyValueStore } from '../../../src/components/key-value.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { keyValueConformance } from '../../../src/testing/key-value-conformance.ts';
import { type VirtualClock, virtualClock } from '../../../src/testing/virtual-clock.ts';
import { Work } from '../../../src/util/work.ts';
import { RecordingLogger } from '../../support/logger.ts';

interface Opened {
  readonly clock: VirtualClock;
  readonly state: StateStore;
  readonly open: (name?: string) => Promise<KeyValueStore>;
}

function prepare(wrap: (store: StateStore) => StateStore = (store) => store): Opened {
  const clock = virtualClock();
  const logger = new RecordingLogger();
  const work = new Work(clock);
  clock.watch(work);
  const state = wrap(new MemoryStore({ clock, logger }));
  const open = (name = 'orders'): Promise<KeyValueStore> =>
    keyValueStore(name).open({ appId: 'shop', clock, logger, state, track: (what) => work.begin(what) });
  return { clock, state, open };
}

/** A store without `getAll`. */
function plain(store: StateStore): StateStore {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'getAll') return undefined;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe.each([
  ['a store', prepare],
  ['a store that cannot read many keys together', () => prepare(plain)],
])('on %s', (_, make) => {
  // What closes is the sidecar's own store, and it closes that.
  const own = keyValueConformance.filter(({ name }) => !name.startsWith('completes the calls in flight'));
  test.each(own)('$name', ({ run }) => {
    const { open, clock } = make();
    return run({ open, pass: (ms) => clock.advance(ms) });
  });
});

test('stores of different names share no key', async () => {
  const { open } = prepare();
  const [one, other] = [await open('one'), await open('other')];
  await one.write([{ kind: 'put', key: 'a', value: Buffer.from('1') }], { atomic: true });
  expect(await other.read(['a'])).toEqual([undefined]);
  await Promise.all([one.close(), other.close()]);
});

describe('expired values', () => {
  const countOf = async (state: StateStore): Promise<number> => (await state.scan({ from: '' })).length;

  test('are removed in portions, and nothing is left of them', async () => {
    const { open, clock, state } = prepare();
    const store = await open();
    const keys = Array.from({ length: 1_000 }, (_, index) => `k${index}`);
    await store.write(
      keys.map((key) => ({ kind: 'put', key, value: Buffer.from('1'), ttlMs: 5_000 })),
      { atomic: false },
    );
    await store.write([{ kind: 'put', key: 'stays', value: Buffer.from('1') }], { atomic: true });
    expect(await countOf(state)).toBe(2_001);
    await clock.advance(300_000);
    expect(await countOf(state)).toBe(1);
    await store.close();
  });

  test('that were saved again stay', async () => {
    const { open, clock, state } = prepare();
    const store = await open();
    const value = Buffer.from('1');
    await store.write([{ kind: 'put', key: 'a', value, ttlMs: 5_000 }], { atomic: true });
    await clock.advance(6_000);
    await store.write([{ kind: 'put', key: 'a', value }], { atomic: true });
    await clock.advance(600_000);
    expect(await store.read(['a'])).toEqual([expect.objectContaining({ bytes: new Uint8Array(value) })]);
    expect(await countOf(state)).toBe(1);
    await store.close();
  });

  test('of a value that is saved every second leave few entries', async () => {
    const { open, clock, state } = prepare();
    const store = await open();
    for (let second = 0; second < 3_600; second++) {
      await store.write([{ kind: 'put', key: 'a', value: Buffer.from('1'), ttlMs: 86_400_000 }], { atomic: true });
      await clock.advance(1_000);
    }
    expect(await countOf(state)).toBeLessThanOrEqual(4);
    await store.close();
  });

  test('that a former process has left are removed after the start', async () => {
    const { open, clock, state } = prepare();
    const first = await open();
    await first.write([{ kind: 'put', key: 'a', value: Buffer.from('1'), ttlMs: 5_000 }], { atomic: true });
    await first.close();
    await clock.advance(600_000);
    expect(await countOf(state)).toBe(2);
    const second = await open();
    await clock.advance(1);
    expect(await countOf(state)).toBe(0);
    await second.close();
  });
});

test('a value has the key that it was saved with, whatever is in that', () => {
  const layout = new KeyValueLayout('orders!"');
  for (const key of ['a', 'a!b', '"', ' \u0000\u0001', 'ä||😀', '__proto__']) {
    expect(layout.keyOf(layout.value(key))).toBe(key);
    expect(layout.dueOf(layout.due(5, key))).toEqual({ at: 5, key });
  }
});
