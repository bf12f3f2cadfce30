import { isAction } from '../model/event-table.ts';
import type { HistoryEvent, Turn } from '../model/events.ts';
import type { HistoryEventText, WorkflowHistoryEvent } from '../model/instance.ts';
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
  const events = await historyTextOf(store, id, Number.POSITIVE_INFINITY);
  return events.map(({ data: text, ...event }) => {
    const data = valueOfText(text);
    // The events of each type have been rendered from stored ones, which have what the type says.
    return (data === undefined ? event : { ...event, data }) as WorkflowHistoryEvent;
  });
}

/** At most so many events of the same. */
export async function historyTextOf(
  store: InstanceStore,
  id: string,
  limit: number,
): Promise<readonly HistoryEventText[]> {
  if (!canBeInstanceId(id) || (await store.read(id)) === undefined) throw notFound(id);
  const events: HistoryEventText[] = [];
  const begun = new Map<number, Begun>();
  for await (const turn of store.turns(id)) {
    for (const event of renderTurn(turn, begun)) events.push(event);
    if (events.length >= limit) break;
  }
  return events.length > limit ? events.slice(0, limit) : events;
}

/** An action that has no result yet. */
interface Begun {
  readonly at: number;
  readonly activityId: number | undefined;
}

function renderTurn({ at, events }: Turn, begun: Map<number, Begun>): HistoryEventText[] {
  const shown: HistoryEventText[] = [];
  for (const event of events)
    if (event.type !== 'begun') shown.push({ ...renderEvent(event, at), ...callOf(event, at, begun) });
  return shown;
}

/** The call to which an event belongs, and how long it took if this is its result. */
function callOf(
  event: HistoryEvent,
  at: number,
  begun: Map<number, Begun>,
): Pick<HistoryEventText, 'activityId' | 'durationMs'> | undefined {
  if (!('sequence' in event)) return undefined;
  const { sequence } = event;
  if (isAction(event)) {
    const activityId = 'activityId' in event ? event.activityId : undefined;
    begun.set(sequence, { at, activityId });
    return activityId === undefined ? undefined : { activityId };
  }
  const call = begun.get(sequence);
  if (call === undefined) return undefined;
  const { activityId } = call;
  return { ...(activityId === undefined ? undefined : { activityId }), durationMs: at - call.at };
}

function renderEvent(event: Exclude<HistoryEvent, { type: 'begun' }>, at: number): HistoryEventText {
  return {
    type: event.type,
    at,
    data: payloadOf(event),
    ...('sequence' in event ? { sequence: event.sequence } : undefined),
    ...('name' in event ? { name: event.name } : undefined),
    ...('attempt' in event ? { attempt: event.attempt } : undefined),
    ...('instanceId' in event ? { instanceId: event.instanceId } : undefined),
    ...('dueAt' in event ? { dueAt: event.dueAt } : undefined),
    ...('failure' in event ? { failure: event.failure } : undefined),
  };
}
