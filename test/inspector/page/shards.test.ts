import { describe, expect, it } from 'vitest';
import { rangesOf, shardsWithoutHost } from '../../../src/inspector/page/core/shards.ts';

describe('shards in words', () => {
  it.each([
    [[], ''],
    [[5], '5'],
    [[0, 1, 2, 7, 9, 10], '0–2, 7, 9–10'],
  ])('%j read %s', (shards, text) => {
    expect(rangesOf(shards)).toBe(text);
  });
});

describe('shards without a host', () => {
  const host = (appId: string, shards: readonly number[], namespace = 'default') => ({ appId, namespace, shards });

  it('are those that no host of the application owns', () => {
    expect(shardsWithoutHost([host('a', [0, 1]), host('a', [3]), host('b', [0, 1, 2, 3])], 4)).toEqual([['a', [2]]]);
  });

  it('are told for each namespace', () => {
    expect(shardsWithoutHost([host('a', [0]), host('a', [1], 'x')], 2)).toEqual([
      ['a', [1]],
      ['x/a', [0]],
    ]);
  });
});
