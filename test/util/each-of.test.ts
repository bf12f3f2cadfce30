import { expect, test } from 'vitest';
import { eachOf } from '../../src/util/each-of.ts';

function pagesOf(...pages: readonly (readonly number[])[]) {
  const read: (string | undefined)[] = [];
  const each = eachOf(async (cursor) => {
    read.push(cursor);
    const index = Number(cursor ?? 0);
    return { items: pages[index] ?? [], ...(index + 1 < pages.length ? { cursor: String(index + 1) } : {}) };
  });
  return { each, read };
}

test('takes page after page, empty ones too, and can be taken again', async () => {
  const { each, read } = pagesOf([1, 2], [], [3]);
  for (const _ of [1, 2]) {
    const items: number[] = [];
    for await (const item of each) items.push(item);
    expect(items).toEqual([1, 2, 3]);
  }
  expect(read).toEqual([undefined, '1', '2', undefined, '1', '2']);
});

test('reads no page before its items are asked for', async () => {
  const { each, read } = pagesOf([1, 2], [3]);
  expect(read).toEqual([]);
  for await (const item of each) if (item === 2) break;
  expect(read).toEqual([undefined]);
});
