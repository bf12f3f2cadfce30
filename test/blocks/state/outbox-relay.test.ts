import { describe, expect, test } from 'vitest';
import { WaitingEvents } from '../../../src/blocks/state/outbox/waiting-events.ts';
import { keyValueStore } from '../../../src/components/key-value/index.ts';
import type { KeyValueStore } from '../../../src/components/key-value.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import { relayCases } from '../../support/relay-cases.ts';
import { storeContext } from '../../support/store-context.ts';

describe('relays of the sidecars of one process', () =>
  relayCases(async () => {
    const context = storeContext('shop');
    const state = new MemoryStore(context);
    const open = (): Promise<KeyValueStore> => keyValueStore('orders').open({ ...context, state });
    return [await open(), await open()];
  }));

test('an event that was set aside is forgotten once another process has published it', () => {
  const waiting = new WaitingEvents();
  const [a, b] = [
    { id: '1', key: 'a' },
    { id: '2', key: 'b' },
  ];
  for (let walk = 0; walk < 5; walk++) {
    waiting.begin();
    expect(waiting.mayTry(a)).toBe(true);
    expect(waiting.failed(a)).toBe(walk === 4);
  }
  expect(waiting.mayTry(b)).toBe(true);
  expect(waiting.succeeded(b)).toBe(true);
  waiting.begin();
  expect(waiting.mayTry(a)).toBe(true);
  expect(waiting.failed(a)).toBe(true);
  expect(waiting.end()).toBe(false);
  expect(waiting.isAny).toBe(true);
  waiting.begin();
  expect(waiting.end()).toBe(false);
  expect(waiting.isAny).toBe(false);
});
