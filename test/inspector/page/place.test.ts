import { describe, expect, test } from 'vitest';
import type { DeadLetter } from '../../../src/inspector/api/queues.ts';
import { keyOf, partsOf, placeOf } from '../../../src/inspector/page/pages/dead-letters/place.ts';

const letter = (topic: string, group: string, key: string): DeadLetter => ({
  queue: { pubsubName: 'pubsub', topic, group },
  key,
  state: 'ready',
  messageId: 'm',
  attempts: 3,
  isRaw: false,
  attributes: {},
  payload: { bytes: 2, format: 'json', value: '{}', isCut: false, isMasked: false },
});

describe('a dead letter among those of all queues', () => {
  test.each([
    ['orders-failed', 'shop', '21'],
    ['a/b?c', 'shop/audit', 'x/y'],
    ['100 %', '__proto__', '→'],
  ])('topic %j, group %j, key %j is found again', (topic, group, key) => {
    const { queue } = letter(topic, group, key);
    expect(placeOf(keyOf(letter(topic, group, key)))).toEqual({ queue, key });
  });

  test.each(['', 'pubsub/orders', '%/%/%/%'])('a link that was changed to %j leads nowhere', (text) => {
    expect(placeOf(text)).toBeUndefined();
  });

  test('those that are selected are acted on queue by queue', () => {
    const selected = [letter('a', 'shop', '1'), letter('b', '__proto__', '1'), letter('a', 'shop', '2')];
    expect(partsOf(new Set([...selected.map(keyOf), 'nonsense']))).toEqual([
      { queue: selected[0]?.queue, selection: ['1', '2'] },
      { queue: selected[1]?.queue, selection: ['1'] },
    ]);
  });
});
