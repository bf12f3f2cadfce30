import { expect, test } from 'vitest';
import { encodeHost, encodeTableVersion, HOSTS_PREFIX, ShardLayout } from '../../src/cluster/hosts.ts';
import { type MoveDeps, type MoveStep, moveState } from '../../src/cluster/move-state.ts';
import { StoreView } from '../../src/cluster/store-view.ts';
import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { Sidecar } from '../../src/index.ts';
import { keyOf } from '../../src/state/keys.ts';
import type { Batch, Scan, StateStore } from '../../src/state/store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { systemClock } from '../../src/util/clock.ts';
import { put } from '../support/embedded-store.ts';
import { KeptStore } from '../support/kept-store.ts';
import { RecordingLogger } from '../support/logger.ts';
import { TestSidecar } from '../support/sidecar.ts';

const logger = new RecordingLogger();
const memory = (): MemoryStore => new MemoryStore({ clock: systemClock, logger });
const keysOf = async (store: StateStore): Promise<readonly string[]> =>
  (await store.scan({ from: '' })).map(({ key }) => key);

/** A store with entries of these keys, one byte each. */
async function storeWith(...keys: readonly string[]): Promise<MemoryStore> {
  const store = memory();
  await store.commit({ put: keys.map((key) => put(key)) });
  return store;
}

/** Moves; calls back while it does. */
function move(source: StateStore, target: StateStore, during: (step: MoveStep) => void = () => undefined) {
  const deps: MoveDeps = { source, target, clock: systemClock, onProgress: during };
  return moveState(deps);
}

/** A store that other processes could have open. */
class SharedMemory extends StoreView {
  override get isExclusive(): boolean {
    return false;
  }
}

/** A store whose commits fail from the second on: the mark is written, and nothing else. */
class FailingStore extends StoreView {
  #commits = 0;

  override commit(batch: Batch): Promise<number> {
    this.#commits++;
    return this.#commits > 1 ? Promise.reject(new Error('the network is gone')) : super.commit(batch);
  }
}

/** A store whose server starts late. */
class LateStore extends StoreView {
  isDown = true;

  override get failure(): Error | undefined {
    return this.isDown ? new Error('the server is down') : undefined;
  }

  override get(key: string): ReturnType<StateStore['get']> {
    return this.#reach(() => super.get(key));
  }

  override scan(scan: Scan): ReturnType<StateStore['scan']> {
    return this.#reach(() => super.scan(scan));
  }

  override commit(batch: Batch): Promise<number> {
    return this.#reach(() => super.commit(batch));
  }

  #reach<T>(call: () => Promise<T>): Promise<T> {
    return this.failure === undefined ? call() : Promise.reject(this.failure);
  }
}

const host = (id: string) =>
  encodeHost({ id, appId: 'orders', namespace: '', address: undefined, actorTypes: [], updatedAt: 1 });

test('copies every entry but those of hosts and shards', async () => {
  const keys = ['a', '__proto__', '\u0000', '\ue000', '\u{10000}', 'hostsx', 'shardsx'];
  const source = await storeWith(...keys);
  const kept = [encodeTableVersion(3), { key: 'b', value: new Uint8Array() }];
  await source.commit({ put: [host('dead'), new ShardLayout('orders').put(7, 'dead'), ...kept] });
  const target = memory();
  expect((await move(source, target)).entries).toBe(9);
  expect(new Set(await keysOf(target))).toEqual(new Set([...keys, ...kept.map(({ key }) => key)]));
  expect((await target.get('b'))?.value).toEqual(new Uint8Array());
});

test('copies more than one page', async () => {
  const source = await storeWith(...Array.from({ length: 2_500 }, (_, index) => `key-${index}`));
  const target = memory();
  expect((await move(source, target)).entries).toBe(2_500);
  expect(await keysOf(target)).toEqual(await keysOf(source));
});

test('refuses a target that is not empty, and leaves it as it is', async () => {
  const target = await storeWith('mine');
  await expect(move(await storeWith('a'), target)).rejects.toMatchObject({
    kind: 'failed',
    message: 'The target is not empty: name another directory, schema or prefix, or remove what is in it.',
  });
  expect(await keysOf(target)).toEqual(['mine']);
});

test('no sidecar starts on a target whose move was interrupted, until it is moved again', async () => {
  const source = await storeWith('a', 'b');
  const kept = new KeptStore();
  await expect(move(source, new FailingStore(kept.memory))).rejects.toThrow('the network is gone');
  await using early = new Sidecar({ appId: 'orders', state: kept, logger });
  await expect(early.start()).rejects.toMatchObject({
    kind: 'failed',
    message: 'The state in kept is incomplete: a move to it has not ended. Run insidecar migrate-state again.',
  });
  await expect(move(kept.memory, memory())).rejects.toThrow('The source is incomplete');
  await source.commit({ delete: ['b'] });
  const steps = new Set<MoveStep>();
  expect((await move(source, kept.memory, (step) => steps.add(step))).entries).toBe(1);
  expect([...steps]).toEqual(['clearing', 'copying', 'comparing']);
  expect(await keysOf(kept.memory)).toEqual(['a']);
  await using late = new Sidecar({ appId: 'orders', state: kept, logger });
  await late.start();
});

test('a sidecar that starts before its store works writes nothing to such a target either, and says why', async () => {
  const [source, target] = [await storeWith('a'), memory()];
  await expect(move(source, new FailingStore(target))).rejects.toThrow('the network is gone');
  const late = new LateStore(target);
  await using world = new TestSidecar({ state: { type: 'late', open: () => Promise.resolve(late) } });
  const { sidecar, clock } = await world.start();
  late.isDown = false;
  await clock.advance('10s');
  await expect(sidecar.jobs.schedule('report', { dueTime: '1h' })).rejects.toThrow();
  expect(await keysOf(target)).toEqual([keyOf('move')]);
  const said = world.logger.lines.filter(({ message }) => message.startsWith('a move to the state store'));
  const error = { message: expect.stringContaining('Run insidecar migrate-state again.') };
  expect(said).toMatchObject([{ level: 'error', details: { error } }]);
  expect((await move(source, target)).entries).toBe(1);
  await clock.advance('10s');
  await sidecar.jobs.schedule('report', { dueTime: '1h' });
  expect((await keysOf(target)).filter((key) => key.startsWith(HOSTS_PREFIX)).length).toBe(1);
});

test('what a broken-off move has copied is removed by the next one', async () => {
  const source = await storeWith(...Array.from({ length: 1_500 }, (_, index) => `key-${index}`));
  const target = memory();
  const stop = (): void => {
    throw new Error('stopped');
  };
  await expect(move(source, target, stop)).rejects.toThrow('stopped');
  expect((await keysOf(target)).length).toBe(1_001);
  await source.commit({ delete: ['key-0'] });
  await move(source, target);
  expect(await keysOf(target)).toEqual(await keysOf(source));
});

test('of two moves to one target, the first one ends', async () => {
  const source = await storeWith(...Array.from({ length: 1_500 }, (_, index) => `key-${index}`));
  const target = memory();
  let second: Promise<unknown> | undefined;
  const first = move(source, target, () => {
    second ??= move(source, target);
  });
  await expect(first).rejects.toMatchObject({ kind: 'conflict' });
  await second;
  expect(await keysOf(target)).toEqual(await keysOf(source));
});

test.each<[string, (source: StateStore, target: StateStore) => Promise<unknown>]>([
  ['is new in the source', (source) => source.commit({ put: [put('aa')] })],
  ['has changed in the source', (source) => source.commit({ put: [put('a', 2)] })],
  ['is gone from the source', (source) => source.commit({ delete: ['a'] })],
  ['is new in the target', (_source, target) => target.commit({ put: [put('zz')] })],
  ['is gone from the target', (_source, target) => target.commit({ delete: ['b'] })],
])('fails when an entry %s meanwhile', async (_what, change) => {
  const [source, target] = [await storeWith('a', 'b'), memory()];
  const moving = move(source, target, (step) => step === 'copying' && void change(source, target));
  await expect(moving).rejects.toThrow(/^The entry "(a|aa|b|zz)" differs between source and target/);
  await using sidecar = new Sidecar({ appId: 'orders', state: new KeptStore(target), logger });
  await expect(sidecar.start()).rejects.toThrow('is incomplete');
});

test('a host that starts on the source meanwhile is noticed', async () => {
  const source = await storeWith('a');
  const moving = move(source, memory(), (step) => step === 'comparing' && void source.commit({ put: [host('new')] }));
  await expect(moving).rejects.toMatchObject({ kind: 'in-use' });
});

test('a host of the source that renews its record is alive: refused', async () => {
  const clock = virtualClock();
  const source = await storeWith('a');
  await source.commit({ put: [host('alive')] });
  const target = memory();
  const moving = moveState({ source: new SharedMemory(source), target, clock, onProgress: () => undefined });
  const refused = expect(moving).rejects.toMatchObject({
    kind: 'in-use',
    message: 'Sidecars of orders use the source: stop them first.',
  });
  await clock.advance('4s');
  await source.commit({ put: [host('alive')] });
  await clock.advance('1s');
  await refused;
  expect(await keysOf(target)).toEqual([]);
});

test('a host of the source that has crashed does not renew its record: the move goes on after 20 s', async () => {
  const clock = virtualClock();
  const source = await storeWith('a');
  await source.commit({ put: [host('dead')] });
  const target = memory();
  const moving = moveState({ source: new SharedMemory(source), target, clock, onProgress: () => undefined });
  await clock.advance('19s');
  expect(await keysOf(target)).toEqual([]);
  await clock.advance('1s');
  expect((await moving).entries).toBe(1);
});
