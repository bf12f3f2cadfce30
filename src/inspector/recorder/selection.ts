import type { RecorderEntry } from './entries.ts';
import type { RecordFilter } from './query.ts';

/** How long the search for a text goes on before others have their turn. */
const SLICE_MS = 4;

/** Entries that are meant, in the order given, up to a limit; the search for a text lets others have their turn. */
export async function* selected(
  entries: Iterable<RecorderEntry>,
  { matches, text }: RecordFilter,
): AsyncGenerator<RecorderEntry, void, void> {
  let until = performance.now() + SLICE_MS;
  for (const entry of entries) {
    if (!matches(entry)) continue;
    if (text === undefined || entry.hasText(text)) yield entry;
    if (text === undefined || performance.now() < until) continue;
    await new Promise((resolve) => setImmediate(resolve));
    until = performance.now() + SLICE_MS;
  }
}
