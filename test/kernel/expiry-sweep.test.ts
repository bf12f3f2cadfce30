import { expect, test } from 'vitest';
import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { ExpirySweep, lookAt } from '../../src/kernel/expiry-sweep.ts';
import { instantOf, instantPart, keyOf, partsOf, rangeOf } from '../../src/state/keys.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { RecordingLogger } from '../support/logger.ts';
import { PausableStore } from '../support/pausable-store.ts';

const START = 1_000_000;
const NOTHING = Buffer.alloc(0);

/** A store whose values are the instants at which they end. */
async function sweepWorld() {
  const clock = virtualClock({ startAt: START });
  const logger = new RecordingLogger();
  const store = new PausableStore(new MemoryStore({ clock, logger }));
  const sweep = new ExpirySweep({
    ...{ store, clock, logger },
    track: () => () => undefined,
    values: {
      range: rangeOf('due'),
      placeOf: (key) => {
        const [, at = '', name = ''] = partsOf(key);
        return { at: instantOf(at), entry: keyOf('value', name) };
      },
      endOf: (_key, { value }) => Number(Buffer.from(value).toString()),
    },
  });
  const write = async (name: string, endsAt: number): Promise<void> => {
    const due = keyOf('due', instantPart(endsAt), name);
    const value = { key: keyOf('value', name), value: Buffer.from(String(endsAt)) };
    await store.commit({ put: [value, { key: due, value: NOTHING }] });
    sweep.expect(endsAt);
  };
  const left = async (): Promise<number> => (await store.scan({ ...rangeOf('value'), limit: 1_000 })).length;
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
  return { clock, store, sweep, write, left, settle };
}

test('values that end are removed, in pages, and no others', async () => {
  const { clock, sweep, write, left, settle } = await sweepWorld();
  for (let n = 0; n < 450; n++) await write(`a${n}`, START + 1_000);
  await write('later', START + 3_600_000);
  await clock.advance('1s');
  await settle();
  expect(await left()).toBe(1);
  await clock.advance('1h');
  await settle();
  expect(await left()).toBe(0);
  await sweep.stop();
});

test('a value that ends while it is looked for others is removed too', async () => {
  const { clock, store, sweep, write, left, settle } = await sweepWorld();
  let goOn = (): void => undefined;
  const isKept = new Promise<void>((kept) => {
    store.keepsBack = () => {
      store.keepsBack = () => undefined;
      kept();
      return new Promise((resolve) => {
        goOn = resolve;
      });
    };
  });
  sweep.start();
  await isKept;
  // It was written after the entries were read, and its time comes before they are answered.
  await write('b', START + 1_000);
  await clock.advance('1s');
  goOn();
  await settle();
  expect(await left()).toBe(0);
  await write('c', START + 5_000);
  await clock.advance('5s');
  await settle();
  expect(await left()).toBe(0);
  await sweep.stop();
});

test('a value that is written again and again has one entry for each step', () => {
  expect([lookAt(60_001, 60_000), lookAt(119_999, 60_000), lookAt(120_000, 60_000)]).toEqual([
    120_000, 120_000, 120_000,
  ]);
});
