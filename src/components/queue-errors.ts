import { SidecarError } from '../errors.ts';
import { didYouMean } from '../util/suggest.ts';
import type { GroupQueue } from './queue-access.ts';

/** The errors of operations on queues. */

export function queueNotFound(queue: GroupQueue, known: Iterable<GroupQueue>): SidecarError {
  const groups = [...known].filter(({ topic }) => topic === queue.topic).map(({ group }) => group);
  const expected =
    groups.length === 0
      ? 'the topic has no group'
      : `its groups are ${groups.join(', ')}${didYouMean(queue.group, groups)}`;
  return new SidecarError(
    'ERR_QUEUE_NOT_FOUND',
    `topic ${JSON.stringify(queue.topic)} has no group ${JSON.stringify(queue.group)}: ${expected}`,
  );
}

export function queueBusy({ topic, group }: GroupQueue, why: string, cause?: unknown): SidecarError {
  return new SidecarError(
    'ERR_QUEUE_BUSY',
    `the queue of group ${JSON.stringify(group)} on topic ${JSON.stringify(topic)} ${why}`,
    { cause },
  );
}

export function invalidCursor(cursor: string): SidecarError {
  return new SidecarError(
    'ERR_INVALID_ARGUMENT',
    `cursor is ${JSON.stringify(cursor)}: expected the cursor of the page before`,
  );
}

export function hasConsumers(queue: GroupQueue): SidecarError {
  return queueBusy(queue, 'has consumers: end its subscriptions first');
}
