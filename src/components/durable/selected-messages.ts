import { keyAfter } from '../../state/keys.ts';
import { isCutOff, type PageSize } from '../../state/page.ts';
import type { KeyedEntry, KeyRange, StateStore } from '../../state/store.ts';
import type { QueueEntry, QueueSelection } from '../queue-access.ts';
import { decodeQueued } from './codec.ts';
import type { QueueLayout } from './layout.ts';

/** How much of a queue is read, and changed in one commit. */
const PORTION: PageSize = { limit: 500, maxBytes: 4 * 1024 * 1024 };

/** How many messages are read at once by their keys: their sizes are not known before, and are up to 8 MiB. */
const KEYS_AT_ONCE = 32;

/** A queue in the store. */
export interface StoredQueue {
  readonly store: StateStore;
  readonly layout: QueueLayout;
  readonly topic: string;
}

/** A message as operators see it; `undefined` if it cannot be read. */
export function queueEntryOf({ layout, topic }: StoredQueue, { key, value }: KeyedEntry): QueueEntry | undefined {
  const number = layout.numberOf(key);
  try {
    const { message, attempts } = decodeQueued(key, value, topic);
    const entry: QueueEntry = { key: String(number), state: 'ready', message, attempts };
    return key.startsWith(layout.readyPrefix) ? entry : { ...entry, state: 'delayed', dueAt: layout.dueAtOf(key) };
  } catch {
    // A damaged message, or one of a newer release.
    return undefined;
  }
}

/**
 * The messages of a selection, in portions. All of them means those that are there now: messages that are published
 * meanwhile are left out, so that it ends.
 */
export async function* selectedMessages(
  queue: StoredQueue,
  { keys, matches }: QueueSelection,
): AsyncGenerator<readonly KeyedEntry[]> {
  const { readyRange, delayedRange } = queue.layout;
  if (keys !== undefined) return yield* withNumbers(queue, keys);
  for (const range of [readyRange, delayedRange])
    for await (const page of pagesOf(queue.store, range)) {
      const meant = page.filter((entry) => {
        if (matches === undefined) return true;
        const shown = queueEntryOf(queue, entry);
        return shown !== undefined && matches(shown);
      });
      if (meant.length > 0) yield meant;
    }
}

async function* pagesOf(store: StateStore, range: KeyRange): AsyncGenerator<readonly KeyedEntry[]> {
  const [last] = await store.scan({ ...range, reverse: true, limit: 1 });
  if (last === undefined) return;
  const to = keyAfter(last.key);
  for (let { from } = range; ; ) {
    const page = await store.scan({ from, to, ...PORTION });
    const end = page.at(-1);
    if (end === undefined) return;
    yield page;
    if (!isCutOff(page, PORTION)) return;
    from = keyAfter(end.key);
  }
}

/** The number in a message's key for operators, or an instant in a cursor; `undefined` for any other text. */
export function numberOfKey(key: string): number | undefined {
  const number = /^\d{1,16}$/.test(key) ? Number(key) : undefined;
  return Number.isSafeInteger(number) ? number : undefined;
}

/** Messages by their keys for operators: most lie among the ready ones. */
async function* withNumbers(queue: StoredQueue, keys: readonly string[]): AsyncGenerator<readonly KeyedEntry[]> {
  const { store, layout } = queue;
  const wanted = new Set(keys.map(numberOfKey).filter((number) => number !== undefined));
  const numbers = [...wanted];
  let portion: KeyedEntry[] = [];
  for (let from = 0; from < numbers.length; from += KEYS_AT_ONCE) {
    const ready = numbers.slice(from, from + KEYS_AT_ONCE).map((number) => layout.ready(number));
    for (const entry of await entriesOf(store, ready)) {
      wanted.delete(layout.numberOf(entry.key));
      portion.push(entry);
      if (!isCutOff(portion, PORTION)) continue;
      yield portion;
      portion = [];
    }
  }
  if (portion.length > 0) yield portion;
  if (wanted.size === 0) return;
  for await (const page of pagesOf(store, layout.delayedRange)) {
    const found = page.filter(({ key }) => wanted.has(layout.numberOf(key)));
    if (found.length > 0) yield found;
  }
}

/** The entries that there are under keys. */
export async function entriesOf(store: StateStore, keys: readonly string[]): Promise<readonly KeyedEntry[]> {
  const entries = await Promise.all(
    keys.map(async (key) => {
      const entry = await store.get(key);
      return entry && { key, ...entry };
    }),
  );
  return entries.filter((entry) => entry !== undefined);
}
