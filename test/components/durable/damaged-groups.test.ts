import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { durablePubSub, Sidecar } from '../../../src/index.ts';
import { ConflictError } from '../../../src/kit/index.ts';
import { KeptStore } from '../../support/kept-store.ts';
import { RecordingLogger } from '../../support/logger.ts';

/** A store with the queue of a topic, in which one entry was changed. */
async function damagedStore(ending: string, change: (text: string) => string): Promise<KeptStore> {
  const store = new KeptStore();
  await using sidecar = sidecarOn(store);
  await sidecar.start();
  await sidecar.pubsub.queues.addGroup({ pubsubName: 'pubsub', topic: 'orders', group: 'shop' });
  await sidecar.pubsub.publish('pubsub', 'orders', 1);
  await sidecar.stop();
  const entry = (await store.memory.scan({ from: 'pubsub!', to: 'pubsub"' })).find(({ key }) => key.endsWith(ending));
  if (entry === undefined) throw new Error(`no key ends in ${ending}`);
  const value = Buffer.from(change(Buffer.from(entry.value).toString()));
  await store.memory.commit({ put: [{ key: entry.key, value }] });
  return store;
}

function sidecarOn(state: KeptStore): Sidecar {
  return new Sidecar({ appId: 'shop', state, components: [durablePubSub('pubsub')], logger: new RecordingLogger() });
}

test.each<[what: string, ending: string, change: (text: string) => string, problem: RegExp]>([
  [
    'a record without names',
    '!=orders!=shop!',
    (text) => text.replace('group', 'grouq'),
    /!=orders!=shop!" is damaged/,
  ],
  [
    'names that are not those of the key',
    '!=orders!=shop!',
    (text) => text.replace('orders', 'ordess'),
    /=shop!" is damaged/,
  ],
  ['no JSON', '!=orders!=shop!', (text) => text.slice(0, 9), /!=orders!=shop!" is damaged/],
  ['a count that is none', '!groups!', () => '\u0001"x"', /!groups!" is damaged \(a count was expected\)/],
])('a damaged entry of the groups stops the start, and is named: %s', async (_what, ending, change, problem) => {
  await using sidecar = sidecarOn(await damagedStore(ending, change));
  await expect(sidecar.start()).rejects.toThrow(problem);
});

test('a damaged sequence refuses publishes, and is named', async () => {
  await using sidecar = sidecarOn(await damagedStore('!sequence!', () => '\u0001-1'));
  await sidecar.start();
  const error: unknown = await sidecar.pubsub.publish('pubsub', 'orders', 2).catch((reason: unknown) => reason);
  expect(String(error)).not.toMatch(/sequence/);
  expect(inspect(error, { depth: 9 })).toMatch(/!sequence!" is damaged/);
});

const GROUP = { pubsubName: 'pubsub', topic: 'orders', group: 'shop' };

test.each<[what: string, ending: string, call: (sidecar: Sidecar) => Promise<unknown>]>([
  ['a publish', '!groups!', ({ pubsub }) => pubsub.publish('pubsub', 'orders', 1)],
  ['a publish that reserves numbers', '!sequence!', ({ pubsub }) => pubsub.publish('pubsub', 'orders', 1)],
  ['a new group', '!groups!', ({ pubsub }) => pubsub.queues.addGroup({ ...GROUP, group: 'other' })],
  ['a pause', '!groups!', ({ pubsub }) => pubsub.queues.pause(GROUP)],
  ['the end of a group', '!groups!', ({ pubsub }) => pubsub.queues.removeGroup(GROUP)],
])('%s ends when the store refuses the version that it answers', async (_what, ending, call) => {
  const store = new KeptStore();
  await using sidecar = sidecarOn(store);
  await sidecar.start();
  await sidecar.pubsub.queues.addGroup(GROUP);
  // As in a damaged file, where a scan finds another row of a key than a look-up.
  store.interfere = (batch, commit) => {
    const refused = batch.require?.find(({ key }) => key.endsWith(ending));
    return refused === undefined ? commit() : Promise.reject(new ConflictError(refused.key));
  };
  const error: unknown = await call(sidecar).catch((reason: unknown) => reason);
  const causes = inspect(error, { depth: 9 });
  expect(causes).toMatch(/The store answers a version of .* that it refuses/);
});
