import { test } from 'vitest';
import { keyValueStore } from '../../../src/components/key-value/index.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import { virtualClock } from '../../../src/testing/virtual-clock.ts';
import { Work } from '../../../src/util/work.ts';
import { compareKeyValues, type ModelledStore } from '../../support/key-value-model.ts';
import { RecordingLogger } from '../../support/logger.ts';

function make(): ModelledStore {
  const clock = virtualClock();
  const logger = new RecordingLogger();
  const work = new Work(clock);
  clock.watch(work);
  const state = new MemoryStore({ clock, logger });
  const track = (what: string): (() => void) => work.begin(what);
  return {
    open: () => keyValueStore('orders').open({ appId: 'shop', clock, logger, state, track }),
    root: '',
    now: () => clock.now(),
    // Also the sweep of expired values runs at times.
    pass: (ms) => clock.advance(ms),
    exactMs: 0,
  };
}

test(
  'a store in memory answers as a map does, whatever is done',
  () => compareKeyValues(make, { numRuns: 300 }),
  60_000,
);
