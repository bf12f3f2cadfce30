import { expect, test } from 'vitest';
import { Recent } from '../../src/util/lru.ts';

test('keeps the values that were used last, and makes the others anew', () => {
  const recent = new Recent<string>(2);
  const made: string[] = [];
  const get = (name: string): string =>
    recent.get(name, () => {
      made.push(name);
      return `${name}${made.length}`;
    });
  expect([get('a'), get('b'), get('a'), get('c'), get('a'), get('b')]).toEqual(['a1', 'b2', 'a1', 'c3', 'a1', 'b4']);
});
