/** A page of a list that is read a part at a time. */
export interface ReadPage<Item> {
  readonly items: readonly Item[];
  /** For the next page; absent at the end. */
  readonly cursor?: string | undefined;
}

/** All items of a list, for `for await`: each page is read when the items before it have been taken. */
export function eachOf<Item>(read: (cursor: string | undefined) => Promise<ReadPage<Item>>): AsyncIterable<Item> {
  return { [Symbol.asyncIterator]: () => itemsOf(read) };
}

async function* itemsOf<Item>(read: (cursor: string | undefined) => Promise<ReadPage<Item>>): AsyncGenerator<Item> {
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
