import type { HistoryEvent, Turn } from '../model/events.ts';
import type { WorkflowHistoryEvent } from '../model/instance.ts';
import { canBeInstanceId } from '../model/instance-id.ts';
import { notFound } from '../model/not-found.ts';
import { valueOfText } from '../model/payload.ts';
import { payloadOf } from './codec.ts';
import type { InstanceStore } from './instance-store.ts';

/**
 * The history of an instance, for display.
 *
 * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND` if the instance does not exist.
 */
export async function historyOf(store: InstanceStore, id: string): Promise<readonly WorkflowHistoryEvent[]> {
  if (!canBeInstanceId(id) || (await store.read(id)) === undefined) throw notFound(id);
  const events: WorkflowHistoryEvent[] = [];
  for await (const turn of store.turns(id)) for (const event of renderTurn(turn)) events.push(event);
  return events;
}

function renderTurn({ at, events }: Turn): WorkflowHistoryEvent[] {
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
