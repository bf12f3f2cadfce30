import { describe, expect, test } from 'vitest';
import { sharedState } from '../../src/cluster/shared-state.ts';
import { memoryState } from '../../src/components/memory/memory-store.ts';
import { stateStoreConformance } from '../../src/kit/store-conformance.ts';
import { isStateError } from '../../src/state/errors.ts';
import type { StateDefinition, StateStore } from '../../src/state/store.ts';
import { systemClock } from '../../src/util/clock.ts';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const context = { clock: systemClock, logger: quiet };
const value = new Uint8Array([1]);

for (const { name, needs = [], run } of stateStoreConformance)
  test.skipIf(needs.includes('durable'))(`shared store: ${name}`, () => {
    const shared = sharedState(memoryState());
    return run(() => shared.open(context));
  });

/** A definition that counts how often it is opened and closed. */
function counted(): StateDefinition & { opened: number; closed: number; failing: boolean } {
  return {
    type: 'counted',
    opened: 0,
    closed: 0,
    failing: false,
    async open(given): Promise<StateStore> {
      if (this.failing) throw new Error('the disk is on fire');
      this.opened++;
      const store = await memoryState().open(given);
      const { close } = store;
      store.close = () => {
        this.closed++;
        return close.call(store);
      };
      return store;
    },
  };
}

describe('a shared store', () => {
  test('is opened once and closed with the last of its users', async () => {
    const definition = counted();
    const shared = sharedState(definition);
    const [a, b] = await Promise.all([shared.open(context), shared.open(context)]);
    await a.commit({ put: [{ key: 'a', value }] });
    expect((await b.get('a'))?.value).toEqual(value);
    await Promise.all([a.close(), a.close()]);
    expect([definition.opened, definition.closed]).toEqual([1, 0]);
    expect((await b.get('a'))?.value).toEqual(value);
    await b.close();
    expect([definition.opened, definition.closed]).toEqual([1, 1]);
  });

  test('takes nothing from one that has closed it, and tells it of nothing', async () => {
    const shared = sharedState(memoryState());
    const [a, b] = [await shared.open(context), await shared.open(context)];
    const seen: string[] = [];
    a.watch('', (keys) => void seen.push(...keys));
    await b.commit({ put: [{ key: 'a', value }] });
    await a.close();
    await b.commit({ put: [{ key: 'b', value }] });
    expect(seen).toEqual(['a']);
    const kinds = await Promise.all(
      [a.get('a'), a.scan({ from: '' }), a.commit({})].map((call) =>
        call.catch((error: unknown) => isStateError(error) && error.kind),
      ),
    );
    expect(kinds).toEqual(['closed', 'closed', 'closed']);
    expect(() => a.watch('', () => undefined)).toThrow('closed');
    await b.close();
  });

  test('gives nobody a store that is being closed, whenever it is asked for one', async () => {
    for (let turns = 0; turns < 12; turns++) {
      const shared = sharedState(memoryState());
      const closing = (await shared.open(context)).close();
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      const again = await shared.open(context);
      await closing;
      expect([turns, await again.get('a')]).toEqual([turns, undefined]);
      await again.close();
    }
  });

  test('is opened again after its end, and after an opening that failed', async () => {
    const definition = counted();
    const shared = sharedState(definition);
    await (await shared.open(context)).close();
    definition.failing = true;
    const failed = await Promise.allSettled([shared.open(context), shared.open(context)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    definition.failing = false;
    const again = await shared.open(context);
    expect(definition.opened).toBe(2);
    await again.close();
    expect(definition.closed).toBe(2);
  });
});
