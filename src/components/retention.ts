import type { Complete } from '../util/defined-only.ts';
import { checkOptions, field, LIMIT, type OptionFields } from '../util/option-fields.ts';
import type { QueueEntry } from './queue-access.ts';

/** After this time without consumers, a group that has messages is abandoned. */
export const ABANDONED_AFTER_MS = 600_000;

/** How long dead letters without a subscriber are kept; the oldest are removed first. @public */
export interface DeadLetterRetention {
  /** The most messages for a topic. Default: 10,000. */
  readonly maxMessages?: number | undefined;
  /** The longest time, in milliseconds. Default: no limit. */
  readonly maxAgeMs?: number | undefined;
}

const FIELDS: OptionFields<DeadLetterRetention> = {
  maxMessages: LIMIT,
  maxAgeMs: field((value) => typeof value === 'number' && value >= 1, 'a number of milliseconds, 1 or more'),
};
const DEFAULT_MAX_MESSAGES = 10_000;

/** Retention with its defaults. `what` names the options that it stands in. @throws SidecarError `ERR_CONFIGURATION`. */
export function checkRetention(given: DeadLetterRetention | undefined, what: string): Complete<DeadLetterRetention> {
  if (given !== undefined) checkOptions(`deadLetterRetention in ${what}`, given, FIELDS);
  const { maxMessages = DEFAULT_MAX_MESSAGES, maxAgeMs = Number.POSITIVE_INFINITY } = given ?? {};
  return { maxMessages, maxAgeMs };
}

/** Whether a dead letter is removed; asked for `count` messages in order, the oldest first. */
export function excessOf(
  { maxMessages, maxAgeMs }: Complete<DeadLetterRetention>,
  count: number,
  now: number,
): (entry: QueueEntry) => boolean {
  let tooMany = count - maxMessages;
  return ({ message: { deadLetter } }) =>
    tooMany-- > 0 || (deadLetter !== undefined && Date.parse(deadLetter.at) + maxAgeMs <= now);
}
