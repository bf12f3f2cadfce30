import type { KeyRouter } from './key-router.ts';
import { fieldValue } from './stream-group.ts';

/** Deletes the entries of a stream that all of its groups have acknowledged. */
export async function trimAcknowledged(router: KeyRouter, topic: string): Promise<void> {
  const slot = router.slot(topic);
  const groups = (await router.send(slot, ['XINFO', 'GROUPS', topic])) as readonly (readonly unknown[])[];
  const positions = await Promise.all(groups.map((fields) => oldestNeeded(router, topic, fields)));
  const [oldest] = positions.sort(byAge);
  // Without groups nothing is acknowledged. Entries before the position are deleted, so one entry more than needed
  // stays.
  if (oldest !== undefined) await router.send(slot, ['XTRIM', topic, 'MINID', oldest]);
}

/** A group's first pending entry, or the last one that was delivered if none is pending. */
async function oldestNeeded(router: KeyRouter, topic: string, group: readonly unknown[]): Promise<string> {
  // First the position that is further on: what is delivered in between is behind it.
  const delivered = String(fieldValue(group, 'last-delivered-id'));
  const range = [String(fieldValue(group, 'name')), '-', '+', '1'];
  const pending = (await router.send(router.slot(topic), [
    'XPENDING',
    topic,
    ...range,
  ])) as readonly (readonly unknown[])[];
  const [first] = pending;
  return first === undefined ? delivered : ([String(first[0]), delivered].sort(byAge)[0] ?? delivered);
}

function byAge(one: string, other: string): number {
  const [[ms = 0, sequence = 0], [otherMs = 0, otherSequence = 0]] = [partsOf(one), partsOf(other)];
  return ms - otherMs || sequence - otherSequence;
}

function partsOf(id: string): number[] {
  return id.split('-').map(Number);
}
