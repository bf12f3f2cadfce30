import { expect, test } from 'vitest';
import { Linked } from '../../src/util/linked.ts';

test('values are in the order of their coming, also after some have gone', () => {
  const linked = new Linked<string>();
  const [first, , third] = ['a', 'b', 'c', 'd'].map((value) => linked.add(value));
  expect([...linked]).toEqual(['a', 'b', 'c', 'd']);
  if (third !== undefined) expect(linked.delete(third)).toBe(true);
  if (first !== undefined) expect(linked.delete(first)).toBe(true);
  linked.add('e');
  expect([...linked]).toEqual(['b', 'd', 'e']);
  expect(linked.size).toBe(3);
});

test('a value is taken out once', () => {
  const linked = new Linked<string>();
  const only = linked.add('a');
  expect(only.isIn).toBe(true);
  expect(linked.delete(only)).toBe(true);
  expect(linked.delete(only)).toBe(false);
  expect(only.isIn).toBe(false);
  expect(linked.size).toBe(0);
  expect([...linked]).toEqual([]);
});

test('all are taken at once, and what comes then is the first', () => {
  const linked = new Linked<number>();
  const one = linked.add(1);
  linked.add(2);
  expect(linked.take()).toEqual([1, 2]);
  expect(one.isIn).toBe(false);
  expect(linked.size).toBe(0);
  linked.add(3);
  expect([...linked]).toEqual([3]);
});

test('what is taken out keeps nothing that came after it alive', () => {
  const linked = new Linked<object>();
  const first = linked.add({});
  linked.add({});
  linked.delete(first);
  expect(first).toMatchObject({ previous: undefined, next: undefined });
});
