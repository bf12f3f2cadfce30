import { describe, expect, test } from 'vitest';
import { keyValueStore } from '../../../src/components/key-value/index.ts';
import { KeyValueLayout } from '../../../src/components/key-value/layout.ts';
import type { KeyValueOperation, KeyValueStore } from '../../../src/components/key-value.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import { keyValueConformance } from '../../../src/kit/key-value-conformance.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { type VirtualClock, virtualClock } from '../../../src/testing/virtual-clock.ts';
import { Work } from '../../../src/util/work.ts';
import { openStore, temporaryDirectory } from '../../support/embedded-store.ts';
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

describe('a key at the limits', () => {
  const requestKeys = [' ', '"', '!', '%', '#', '=', '\u0000', 'ä', '\ud7ff', '\uffff', '😀', '\u{10ffff}', '|x'];
  const owners = ['shop', 'a'.repeat(256), ' '.repeat(256), '"'.repeat(256), '€'.repeat(256), '😀'.repeat(128), '|||'];
  const longest = (text: string): string =>
    text.repeat(512).slice(0, Math.floor(512 / Buffer.byteLength(text)) * text.length);
  const keys = (owner: string): string[] => requestKeys.map((text) => `${owner}||${longest(text)}`);
  const inOrder = (list: readonly string[]): readonly string[] =>
    list.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const EACH = { atomic: false };

  async function fits(store: KeyValueStore, owner: string): Promise<void> {
    const all = keys(owner);
    const put = (key: string): KeyValueOperation => ({
      kind: 'put',
      key,
      value: Buffer.from(`${all.indexOf(key)}`),
      ttlMs: 5_000,
    });
    const written = await store.write(all.map(put), EACH);
    expect(new Set(written.map(({ status }) => status))).toEqual(new Set(['done']));
    const found = await store.read(all);
    expect(found.map((one) => one && Buffer.from(one.bytes).toString())).toEqual(all.map((_, index) => `${index}`));
    const listed: string[] = [];
    for (let page = await store.list?.(`${owner}||`, { limit: 4 }); page && page.length > 0; ) {
      listed.push(...page.map(({ key }) => key));
      page = await store.list?.(`${owner}||`, { limit: 4, after: listed.at(-1) ?? '' });
    }
    expect(listed).toEqual(inOrder(all));
  }

  const names = ['orders', '"'.repeat(200), '😀'.repeat(100), `lock ${'a'.repeat(60)}`, 'a'.repeat(63), ' '.repeat(32)];
  const namespaced = [`${'n'.repeat(256)}.${'a'.repeat(256)}`, `lock||${'€'.repeat(256)}`, `lock||${'a||'.repeat(85)}`];

  test.each(names)('fits in memory in a store named %j', async (name) => {
    const { open, clock, state } = prepare();
    const store = await open(name);
    for (const owner of [...owners, ...namespaced]) await fits(store, owner);
    await store.write(
      requestKeys.map((text) => ({ kind: 'put', key: longest(text), value: Buffer.from('1') })),
      EACH,
    );
    expect((await store.list?.('', { limit: 1 }))?.[0]?.key).toBe('\u0000'.repeat(512));
    await clock.advance(300_000);
    expect(await state.scan({ from: '' })).toHaveLength(requestKeys.length);
    await store.close();
  });

  test('fits in the embedded store', async () => {
    const clock = virtualClock();
    const logger = new RecordingLogger();
    const state = await openStore(temporaryDirectory());
    const context = { appId: 'shop', clock, logger, state, track: () => () => undefined };
    const store = await keyValueStore('"'.repeat(64)).open(context);
    for (const owner of [...owners, ...namespaced]) await fits(store, owner);
    await store.close();
  });
});

test('a value has the key that it was saved with, whatever is in that', () => {
  const layout = new KeyValueLayout('orders!"');
  for (const key of ['a', 'a!b', '"', ' \u0000\u0001', 'ä||😀', '__proto__', `${'€'.repeat(200)}||a`]) {
    expect(layout.keyOf(layout.value(key), key)).toBe(key);
    expect(layout.dueOf(layout.due(5, key))).toEqual({ at: 5, entry: layout.value(key) });
  }
});
