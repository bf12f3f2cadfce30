import { describe, expect, it } from 'vitest';
import { mergeRecords } from '../../../src/inspector/page/core/merge.ts';

const record = (key: string, seq: number, at: number) => ({ key, seq, at });

describe('the records of the live flow', () => {
  it('stand with the newest first', () => {
    const merged = mergeRecords([record('a', 1, 10), record('b', 2, 5)], [record('c', 3, 7), record('d', 4, 20)]);
    expect(merged.map(({ key }) => key)).toEqual(['d', 'a', 'c', 'b']);
  });

  it('are replaced by later versions, and keep their place', () => {
    const merged = mergeRecords([record('a', 1, 10), record('b', 2, 5)], [record('b', 9, 5)]);
    expect(merged).toEqual([record('a', 1, 10), record('b', 9, 5)]);
  });

  it('are not replaced by earlier versions, in whatever order they come', () => {
    expect(mergeRecords([record('a', 5, 1)], [record('a', 3, 1)])).toEqual([record('a', 5, 1)]);
    expect(mergeRecords([], [record('a', 5, 1), record('a', 3, 1)])).toEqual([record('a', 5, 1)]);
  });

  it('go when a later version is not meant, and take no place of those that are', () => {
    const isMeant = ({ key, seq }: { readonly key: string; readonly seq: number }) => key === 'a' || seq < 3;
    const changes = [record('a', 4, 1), record('b', 5, 2), record('c', 6, 3)];
    const merged = mergeRecords([record('a', 1, 1), record('b', 2, 2)], changes, { limit: 1, isMeant });
    expect(merged).toEqual([record('a', 4, 1)]);
  });

  it('lose the oldest when there are too many', () => {
    const kept = [record('a', 1, 1), record('b', 2, 2)];
    expect(mergeRecords(kept, [record('c', 3, 3)], { limit: 2 }).map(({ key }) => key)).toEqual(['c', 'b']);
  });
});
