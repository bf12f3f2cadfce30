import assert from 'node:assert/strict';
import type { KeyValueOutbox, KeyValueStore, OutboxEvent } from '../components/key-value.ts';
import { bytes, type KeyValueCase, onKeyValue, put, statuses, valuesOf } from './key-value-case.ts';

const LEASE_MS = 2_000;

function outboxOf(store: KeyValueStore): KeyValueOutbox {
  assert.ok(store.outbox !== undefined, 'the store has no outbox');
  return store.outbox;
}

function event(id: string): OutboxEvent {
  return { id, bytes: bytes({ event: id }) };
}

const idsOf = (events: readonly OutboxEvent[]): readonly string[] => events.map(({ id }) => id);

/** Cases about the events that transactions leave. */
export const outboxCases: readonly KeyValueCase[] = [
  onKeyValue(
    'keeps events with what was written, in the order of their IDs, until they are removed',
    async (store, under) => {
      const outbox = outboxOf(store);
      assert.deepEqual(await outbox.claim(10, LEASE_MS), []);
      await store.write([put('a')], { atomic: true, events: [event('2'), event('3')] });
      await store.write([put('b')], { atomic: true, events: [event('1')] });
      const claimed = await outbox.claim(2, LEASE_MS);
      assert.deepEqual(idsOf(claimed), ['1', '2']);
      assert.deepEqual(new Uint8Array(claimed[0]?.bytes ?? []), bytes({ event: '1' }));
      // Others work on them.
      assert.deepEqual(idsOf(await outbox.claim(10, LEASE_MS)), ['3']);
      await outbox.remove(['1', 'never']);
      await under.pass(LEASE_MS + 1_000);
      assert.deepEqual(idsOf(await outbox.claim(10, LEASE_MS)), ['2', '3']);
      await outbox.remove(['2', '3']);
      await under.pass(LEASE_MS + 1_000);
      assert.deepEqual(await outbox.claim(10, LEASE_MS), []);
      // Events are no values.
      assert.deepEqual(await valuesOf(store, '1', '2', '3', 'a'), [undefined, undefined, undefined, 'a']);
    },
    'outbox',
  ),
  onKeyValue(
    'keeps no event of what was refused',
    async (store) => {
      const condition = { etag: 'no-etag-of-this-store' };
      const outcomes = await store.write([put('a', 1, { condition })], { atomic: true, events: [event('1')] });
      assert.deepEqual(statuses(outcomes), ['refused']);
      assert.deepEqual(await outboxOf(store).claim(10, LEASE_MS), []);
    },
    'outbox',
  ),
  onKeyValue(
    'gives an event to one of several that claim at the same time',
    async (store) => {
      const ids = Array.from({ length: 30 }, (_, index) => String(index + 100));
      await store.write([put('a')], { atomic: true, events: ids.map(event) });
      const outbox = outboxOf(store);
      const claimed = (await Promise.all(Array.from({ length: 6 }, () => outbox.claim(10, LEASE_MS)))).flatMap(idsOf);
      assert.equal(new Set(claimed).size, claimed.length, `an event was claimed twice: ${claimed.join()}`);
    },
    'outbox',
  ),
];
