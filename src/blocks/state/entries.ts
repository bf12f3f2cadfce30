import type { KeyedValue } from '../../components/key-value.ts';
import { KEY_SEPARATOR } from '../../components/key-value-options.ts';
import { isTooLong } from './key-prefix.ts';
import type { OpenStateStore } from './open-state-store.ts';

/** A range of the keys of an application, and how it is read. */
export interface EntryRange {
  /** The beginning of the keys, without the prefix of the application. Default: all keys. */
  readonly prefix?: string;
  /** The key before the first one. */
  readonly after?: string | undefined;
  /** The most entries of one call to the store: so many are in memory. */
  readonly atOnce: number;
}

/** Yields what a store has behind the prefix of the application, in the order of the keys, which come without that prefix. */
export async function* entriesOf(
  store: OpenStateStore,
  { prefix = '', after: first, atOnce: limit }: EntryRange,
): AsyncGenerator<KeyedValue> {
  const { length } = store.prefix;
  let after = first === undefined ? undefined : store.prefix + first;
  for (;;) {
    const page: readonly KeyedValue[] = await store.call(
      async () =>
        (await store.store.list?.(store.prefix + prefix, { limit, ...(after === undefined ? {} : { after }) })) ?? [],
      true,
    );
    for (const entry of page) yield { ...entry, key: entry.key.slice(length) };
    if (page.length === 0) return;
    after = page.at(-1)?.key;
  }
}

/**
 * Whether a request of the application can name this key. In a store without a prefix, those of other applications stand
 * beside its own, and so do those of Dapr's actors behind the prefix of the application: all of them have a separator.
 * Dapr also saves values under an empty key, and longer ones.
 */
export function canBeRequested(key: string): boolean {
  return key !== '' && !key.includes(KEY_SEPARATOR) && !isTooLong(key);
}
