import { expect, test } from 'vitest';
import { LookBack } from '../../../src/components/durable/look-back.ts';

test('looks from the head at first, then from where the end was two looks ago, and from the head every 5 minutes', () => {
  const lookBack = new LookBack();
  const from = Array.from({ length: 13 }, (_, look) => lookBack.from(`key ${look}`, look * 30_000));
  expect(from.slice(0, 2)).toEqual(['', '']);
  expect(from.slice(2, 10)).toEqual(Array.from({ length: 8 }, (_, at) => `key ${at}`));
  expect(from.slice(10)).toEqual(['', 'key 9', 'key 10']);
});

test('goes back a minute, and up to 90 s, when it looks every second', () => {
  const lookBack = new LookBack();
  const from = Array.from({ length: 121 }, (_, second) => lookBack.from(`key ${second}`, second * 1_000));
  expect([from[59], from[60], from[89], from[90], from[120]]).toEqual(['', 'key 0', 'key 0', 'key 30', 'key 60']);
});
