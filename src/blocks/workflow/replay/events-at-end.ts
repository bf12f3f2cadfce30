import { eventKey } from '../model/events.ts';
import type { RunOutcome } from '../model/run-outcome.ts';
import type { EventBuffer, UnreadEvent } from './event-buffer.ts';

/** How many events of a name there are, for display. */
export interface EventCount {
  readonly name: string;
  readonly count: number;
}

const NONE: readonly never[] = [];

/** Takes the events that go along with the next run, if there is one that takes them over. */
export function takeEventsForNextRun(
  buffer: EventBuffer | undefined,
  outcome: RunOutcome | undefined,
): readonly UnreadEvent[] {
  return outcome?.kind === 'continued' && outcome.keepEvents ? (buffer?.takeUnread() ?? NONE) : NONE;
}

/** Takes the events that end with the run, though no code has got them and neither code nor operator has dropped them. */
export function takeLostEvents(
  buffer: EventBuffer | undefined,
  outcome: RunOutcome | undefined,
): readonly EventCount[] {
  if (buffer === undefined || outcome === undefined) return NONE;
  if (outcome.kind === 'terminated' || outcome.kind === 'canceled') return NONE;
  if (outcome.kind !== 'continued') return countByName([...buffer.takeUnread(), ...buffer.left()]);
  return outcome.keepEvents ? countByName(buffer.left()) : NONE;
}

function countByName(events: Iterable<UnreadEvent>): readonly EventCount[] {
  const counts = new Map<string, { readonly name: string; count: number }>();
  for (const { name } of events) {
    const counted = counts.get(eventKey(name));
    if (counted === undefined) counts.set(eventKey(name), { name, count: 1 });
    else counted.count++;
  }
  return [...counts.values()];
}
