import { isAction } from '../model/event-table.ts';
import type { ChildStarted, HistoryEvent, IncomingEvent, Turn } from '../model/events.ts';

type Events = Pick<Turn, 'events'>;

/**
 * The events to apply again when an instance goes on from an earlier turn: `kept` turns are replayed, and the code's
 * actions in `dropped` turns are forgotten. Events from outside apply again, and so do successful results of actions in
 * the kept turns: none of that is done twice. Failures do not apply again: failed actions are open again, and so are
 * timers. Nor do pauses and terminations.
 */
export function eventsAgain(kept: readonly Events[], dropped: readonly Events[]): readonly IncomingEvent[] {
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
        case 'suspended':
        case 'resumed':
        case 'cancelRequested':
        case 'terminated':
          return false;
        default:
          return !isAction(event);
      }
    }),
  );
}

/** The children of the kept turns that have not completed, there or later: nothing would tell a new parent of their end. */
export function openChildren(kept: readonly Events[], dropped: readonly Events[]): readonly ChildStarted[] {
  const isOver = new Set<number>();
  for (const { events } of kept)
    for (const event of events) if (isResultOfChild(event) || event.type === 'childFailed') isOver.add(event.sequence);
  for (const { events } of dropped) for (const event of events) if (isResultOfChild(event)) isOver.add(event.sequence);
  return kept.flatMap(({ events }) =>
    events.filter((event): event is ChildStarted => event.type === 'childStarted' && !isOver.has(event.sequence)),
  );
}

function isResultOfChild(event: HistoryEvent): event is Extract<HistoryEvent, { type: 'childCompleted' }> {
  return event.type === 'childCompleted';
}

function sequencesOf(turns: readonly Events[]): ReadonlySet<number> {
  const sequences = new Set<number>();
  for (const { events } of turns)
    for (const event of events)
      if (event.type === 'activityScheduled' || event.type === 'childStarted') sequences.add(event.sequence);
  return sequences;
}
