import { payloadOf } from './codec.ts';
import type { HistoryEvent, Turn } from './events.ts';
import type { WorkflowHistoryEvent } from './instance.ts';
import { valueOfText } from './payload.ts';

/** The events of a turn, as they are shown. */
export function renderTurn({ at, events }: Turn): WorkflowHistoryEvent[] {
  const shown: WorkflowHistoryEvent[] = [];
  for (const event of events) if (event.type !== 'begun') shown.push(renderEvent(event, at));
  return shown;
}

function renderEvent(event: Exclude<HistoryEvent, { type: 'begun' }>, at: number): WorkflowHistoryEvent {
  const data = valueOfText(payloadOf(event));
  return {
    type: event.type,
    at,
    ...('sequence' in event ? { sequence: event.sequence } : undefined),
    ...('name' in event ? { name: event.name } : undefined),
    ...('attempt' in event ? { attempt: event.attempt } : undefined),
    ...('instanceId' in event ? { instanceId: event.instanceId } : undefined),
    ...('dueAt' in event ? { dueAt: event.dueAt } : undefined),
    ...(data === undefined ? undefined : { data }),
    ...('failure' in event ? { failure: event.failure } : undefined),
  };
}
