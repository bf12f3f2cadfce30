import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SortedMap, type SortedRange } from '../../../src/components/memory/sorted-map.ts';

function keysIn(map: SortedMap<number>, range: SortedRange): readonly string[] {
  const keys: string[] = [];
  map.visit(range, (key) => keys.push(key) > 0);
  return keys;
}

test('keeps order through splits and joins of its leaves', () => {
  const keyNumber = fc.nat(3000);
  const run = fc.record({ start: keyNumber, length: fc.nat(2000), isDelete: fc.boolean() });
  fc.assert(
    fc.property(fc.array(run, { maxLength: 12 }), keyNumber, (runs, bound) => {
      const map = new SortedMap<number>();
      const model = new Set<string>();
      for (const { start, length, isDelete } of runs) {
        for (let number = start; number < start + length; number++) {
          const key = String(number).padStart(5, '0');
          if (isDelete) expect(map.delete(key)).toBe(model.delete(key));
          else map.set(key, number);
          if (!isDelete) model.add(key);
        }
      }
      const sorted = [...model].sort();
      const middle = String(bound).padStart(5, '0');
      expect(map.size).toBe(model.size);
      expect(keysIn(map, { from: '' })).toEqual(sorted);
      expect(keysIn(map, { from: '', reverse: true })).toEqual([...sorted].reverse());
      expect(keysIn(map, { from: middle })).toEqual(sorted.filter((key) => key >= middle));
      expect(keysIn(map, { from: '', to: middle, reverse: true })).toEqual(
        sorted.filter((key) => key < middle).reverse(),
      );
      expect(map.get(middle)).toBe(model.has(middle) ? bound : undefined);
    }),
    { numRuns: 60 },
  );
});

test('ends a visit when told to, and is empty at first', () => {
  const map = new SortedMap<number>();
  expect(keysIn(map, { from: '' })).toEqual([]);
  expect(keysIn(map, { from: '', to: 'x', reverse: true })).toEqual([]);
  for (const key of ['a', 'b', 'c']) map.set(key, 1);
  const seen: string[] = [];
  map.visit({ from: '' }, (key) => seen.push(key) < 2);
  expect(seen).toEqual(['a', 'b']);
});
