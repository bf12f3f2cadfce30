import { isAction } from '../model/event-table.ts';
import type { IncomingEvent, Turn } from '../model/events.ts';

/**
 * The events to apply again when an instance resumes from an earlier turn: `kept` turns are replayed, and the code's
 * actions in `dropped` turns are forgotten. Events from outside apply again, and so do successful results of actions in
 * the kept turns: none of that is done twice. Failures do not apply again: failed actions are open again, and so are
 * timers. A failed child has ended in the store: it has to be resumed as well.
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
