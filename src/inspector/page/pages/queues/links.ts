import type { QueueRef } from '../../../api/queues.ts';
import { link } from '../../core/router.ts';

/** The link to the page of a queue. */
export function linkToQueue({ pubsubName, topic, group }: QueueRef): string {
  return link(['queues', pubsubName, topic, group]);
}

/** A queue in words. */
export function nameOf({ topic, group }: Omit<QueueRef, 'pubsubName'>): string {
  return `${topic} → ${group}`;
}
