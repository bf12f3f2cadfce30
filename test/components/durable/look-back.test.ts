import { expect, test } from 'vitest';
import { LookBack } from '../../../src/components/durable/look-back.ts';

test('looks from the head at first, then from where the end was 30 s ago, and from the head every 5 minutes', () => {
  const lookBack = new LookBack();
  const from = Array.from({ length: 22 }, (_, look) => lookBack.from(`key ${look}`, look * 15_000));
  expect(from.slice(0, 2)).toEqual(['', '']);
  expect(from.slice(2, 20)).toEqual(Array.from({ length: 18 }, (_, at) => `key ${at}`));
  expect(from.slice(20)).toEqual(['', 'key 19']);
});

test('goes back as far, and up to 45 s, when it looks every second', () => {
  const lookBack = new LookBack();
  const from = Array.from({ length: 61 }, (_, second) => lookBack.from(`key ${second}`, second * 1_000));
  expect([from[29], from[30], from[44], from[45], from[60]]).toEqual(['', 'key 0', 'key 0', 'key 15', 'key 30']);
});
