import assert from 'node:assert/strict';
import type { KeyValueOutbox, KeyValueStore, OutboxEvent } from '../components/key-value.ts';
import { bytes, type KeyValueCase, onKeyValue, put, statuses, valuesOf } from './key-value-case.ts';

function outboxOf(store: KeyValueStore): KeyValueOutbox {
  assert.ok(store.outbox !== undefined, 'the store has no outbox');
  return store.outbox;
}

function event(id: string): OutboxEvent {
  return { id, bytes: bytes({ event: id }) };
}

/** The IDs of all events, page by page. */
async function idsIn(store: KeyValueStore): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await outboxOf(store).read(cursor);
    assert.equal(page.cursor === undefined, page.events.length === 0, 'only a page without events has no cursor');
    ids.push(...page.events.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
}

/** Cases about the events that transactions leave. */
export const outboxCases: readonly KeyValueCase[] = [
  onKeyValue(
    'keeps events with what was written, until they are removed',
    async (store) => {
      const outbox = outboxOf(store);
      assert.deepEqual(await idsIn(store), []);
      await store.write([put('a')], { atomic: true, events: [event('1'), event('2')] });
      await store.write([put('b')], { atomic: true, events: [event('3')] });
      const { events } = await outbox.read();
      assert.deepEqual(new Uint8Array(events[0]?.bytes ?? []), bytes({ event: '1' }));
      assert.deepEqual(await idsIn(store), ['1', '2', '3']);
      await outbox.remove(['1', 'never']);
      assert.deepEqual(await idsIn(store), ['2', '3']);
      await outbox.remove(['2', '3', '3']);
      assert.deepEqual(await idsIn(store), []);
      // Events are no values.
      assert.deepEqual(await valuesOf(store, '1', '2', '3', 'a'), [undefined, undefined, undefined, 'a']);
    },
    'outbox',
  ),
  onKeyValue(
    'has the events of one key in the order of the commits: of whatever clock their IDs are, or of the IDs',
    async (store) => {
      const byIds = outboxOf(store).lastId !== undefined;
      const order = byIds ? ['1', '2', '3', '4', '5'] : ['5', '3', '4', '1', '2'];
      const [first = '', second = '', ...others] = order;
      for (const id of order)
        await store.write([put('a', id)], { atomic: true, events: [event(`${id}-1`), event(`${id}-2`)] });
      assert.deepEqual(
        await idsIn(store),
        order.flatMap((id) => [`${id}-1`, `${id}-2`]),
      );
      await outboxOf(store).remove([`${first}-1`, `${first}-2`, `${second}-1`]);
      const last = byIds ? '9' : '0';
      await store.write([put('a', last)], { atomic: true, events: [event(last)] });
      assert.deepEqual(await idsIn(store), [`${second}-2`, ...others.flatMap((id) => [`${id}-1`, `${id}-2`]), last]);
    },
    'outbox',
  ),
  onKeyValue(
    'tells the greatest ID, if its events are in the order of their IDs',
    async (store) => {
      const outbox = outboxOf(store);
      if (outbox.lastId === undefined) return;
      assert.equal(await outbox.lastId(), undefined);
      const ids = ['b', 'c', 'a'];
      for (const id of ids) await store.write([put(id)], { atomic: true, events: [event(id)] });
      assert.equal(await outbox.lastId(), 'c');
      assert.deepEqual(await idsIn(store), ['a', 'b', 'c']);
      await outbox.remove(ids);
      assert.equal(await outbox.lastId(), undefined);
    },
    'outbox',
  ),
  onKeyValue(
    'keeps no event of what was refused',
    async (store) => {
      const condition = { etag: 'no-etag-of-this-store' };
      const outcomes = await store.write([put('a', 1, { condition })], { atomic: true, events: [event('1')] });
      assert.deepEqual(statuses(outcomes), ['refused']);
      assert.deepEqual(await idsIn(store), []);
    },
    'outbox',
  ),
  onKeyValue(
    'reads thousands of events of one transaction page by page, each once, in order',
    async (store) => {
      const ids = Array.from({ length: 2_500 }, (_, index) => String(index + 10_000));
      await store.write([put('a')], { atomic: true, events: ids.map(event) });
      assert.deepEqual(await idsIn(store), ids);
    },
    'outbox',
  ),
];
