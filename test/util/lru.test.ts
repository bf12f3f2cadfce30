import { expect, test } from 'vitest';
import { LruCache } from '../../src/util/lru.ts';

test('keeps the values that were used last, and makes the others anew', () => {
  const recent = new LruCache<string>(2);
  const made: string[] = [];
  const get = (name: string): string =>
    recent.getOrMake(name, () => {
      made.push(name);
      return `${name}${made.length}`;
    });
  expect([get('a'), get('b'), get('a'), get('c'), get('a'), get('b')]).toEqual(['a1', 'b2', 'a1', 'c3', 'a1', 'b4']);
});

test('tells what makes room, and not what is taken out', () => {
  const evicted: string[] = [];
  const cache = new LruCache<string>(2, (value) => evicted.push(value));
  for (const key of ['a', 'b', '__proto__']) cache.set(key, key.toUpperCase());
  expect(evicted).toEqual(['A']);
  expect([cache.get('a'), cache.get('b')]).toEqual([undefined, 'B']);
  cache.set('c', 'C');
  expect(evicted).toEqual(['A', '__PROTO__']);
  cache.delete('b');
  expect(cache.take()).toEqual(['C']);
  expect([cache.take(), evicted.length]).toEqual([[], 2]);
});
