import { expect, test } from 'vitest';
import { watchState } from '../../src/cli/session.ts';
import { memoryState } from '../../src/components/memory/memory-store.ts';
import { StateError, type StateErrorKind } from '../../src/state/errors.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { silentLogger as logger } from '../../src/util/logger.ts';

/** What a run hears of a store that fails, and maybe works again after a while. */
async function heard(kind: StateErrorKind, recovers: boolean): Promise<readonly string[]> {
  const clock = virtualClock();
  const lost: string[] = [];
  let failure: StateError | undefined;
  const definition = {
    type: 'failing',
    open: async () => {
      const store = await memoryState().open({ clock, logger });
      return Object.defineProperty(store, 'failure', { get: () => failure });
    },
  };
  await watchState(definition, clock, (error) => lost.push(error.message)).open({ clock, logger });
  await clock.advance(10_000);
  expect(lost).toEqual([]);
  failure = new StateError(kind, `it is ${kind}`);
  await clock.advance(10_000);
  if (recovers) failure = undefined;
  await clock.advance(10_000);
  return lost;
}

test.each(['corrupt', 'failed'] as const)('a store that is %s will not work again: told once', async (kind) => {
  expect(await heard(kind, false)).toEqual([`it is ${kind}`]);
});

test.each(['full', 'read-only', 'in-use'] as const)('a store that is %s may work again: waited for', async (kind) => {
  expect(await heard(kind, false)).toEqual([]);
  expect(await heard(kind, true)).toEqual([]);
});
