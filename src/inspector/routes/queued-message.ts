import type { QueueEntry } from '../../index.ts';
import type { QueuedMessage } from '../api/queues.ts';
import { messageView } from '../message-view.ts';
import type { PayloadViews } from '../payload.ts';

/** A message of a queue as it is shown. */
export function queuedMessage(
  { key, state, message, attempts, dueAt }: QueueEntry,
  view: PayloadViews[keyof PayloadViews],
): QueuedMessage {
  const { id, raw, trace, expiresAt, deadLetter } = message;
  const { attributes, payload } = messageView(message, view);
  const at = timeIn(attributes);
  return {
    ...{ key, state, messageId: id, attempts, isRaw: raw, attributes, payload },
    ...(dueAt === undefined ? undefined : { dueAt }),
    ...(at === undefined ? undefined : { at }),
    ...(expiresAt === undefined ? undefined : { expiresAt }),
    ...(trace === undefined ? undefined : { traceparent: trace.traceparent }),
    ...(deadLetter === undefined ? undefined : { deadLetter }),
  };
}

function timeIn({ time }: QueuedMessage['attributes']): number | undefined {
  const at = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}
