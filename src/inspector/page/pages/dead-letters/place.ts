import type { DeadLetter, DiscardBody, QueueRef } from '../../../api/queues.ts';

/** A text for a dead letter among those of all queues. */
export function keyOf({ queue: { pubsubName, topic, group }, key }: DeadLetter): string {
  return [pubsubName, topic, group, key].map(encodeURIComponent).join('/');
}

/** The inverse of {@link keyOf}; `undefined` for other texts: people change links. */
export function placeOf(text: string): { readonly queue: QueueRef; readonly key: string } | undefined {
  try {
    const [pubsubName = '', topic = '', group = '', key] = text.split('/').map(decodeURIComponent);
    return key === undefined ? undefined : { queue: { pubsubName, topic, group }, key };
  } catch {
    return undefined;
  }
}

/** The messages of each queue: a call is about one. */
export function partsOf(keys: ReadonlySet<string>): readonly DiscardBody[] {
  const parts = new Map<string, DiscardBody & { readonly selection: string[] }>();
  for (const text of keys) {
    const { queue, key } = placeOf(text) ?? {};
    if (queue === undefined || key === undefined) continue;
    const name = text.slice(0, text.lastIndexOf('/'));
    const part = parts.get(name) ?? { queue, selection: [] };
    part.selection.push(key);
    parts.set(name, part);
  }
  return [...parts.values()];
}
