import { isAction } from '../model/event-table.ts';
import type { IncomingEvent, Turn } from '../model/events.ts';

/**
 * What happens again when an instance goes on from an earlier turn: `kept` is replayed, and what its code did in the
 * turns that are `dropped` is forgotten. What had come from outside comes again, and so do results of what was begun
 * in the turns that are kept: nothing of that is done twice. Failures do not come again: what failed is open once more,
 * as are timers. A child that failed is over in the store: it has to go on as well.
 */
export function eventsAgain(kept: readonly Turn[], dropped: readonly Turn[]): readonly IncomingEvent[] {
  const begun = sequencesOf(kept);
  return dropped.flatMap(({ events }) =>
    events.filter((event): event is IncomingEvent => {
      switch (event.type) {
        case 'activityCompleted':
        case 'childCompleted':
          return begun.has(event.sequence);
        case 'begun':
        case 'timerFired':
        case 'activityFailed':
        case 'childFailed':
          return false;
        default:
          return !isAction(event);
      }
    }),
  );
}

function sequencesOf(turns: readonly Turn[]): ReadonlySet<number> {
  const sequences = new Set<number>();
  for (const { events } of turns)
    for (const event of events)
      if (event.type === 'activityScheduled' || event.type === 'childStarted') sequences.add(event.sequence);
  return sequences;
}
