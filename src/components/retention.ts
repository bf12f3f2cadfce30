import type { Duration } from '../util/duration.ts';
import { msOf } from '../util/duration.ts';
import { duration } from '../util/duration-option.ts';
import { checkOptions, LIMIT, type OptionFields } from '../util/option-fields.ts';
import type { QueueEntry } from './queue-access.ts';

/** After this time without consumers, a group that has messages is abandoned. */
export const ABANDONED_AFTER_MS = 600_000;

/** How long dead letters without a subscriber are kept; the oldest are removed first. @public */
export interface DeadLetterRetention {
  /** The most messages for a topic. Default: 10,000. */
  readonly maxMessages?: number | undefined;
  /** The longest time. Default: no limit. */
  readonly maxAge?: Duration | undefined;
}

/** {@link DeadLetterRetention} with its defaults. */
export interface Retention {
  readonly maxMessages: number;
  /** `Infinity` for no limit. */
  readonly maxAgeMs: number;
}

const FIELDS: OptionFields<DeadLetterRetention> = {
  maxMessages: LIMIT,
  maxAge: duration(1),
};
const DEFAULT_MAX_MESSAGES = 10_000;

/** Retention with its defaults. `what` names the options that it stands in. @throws SidecarError `ERR_CONFIGURATION`. */
export function checkRetention(given: DeadLetterRetention | undefined, what: string): Retention {
  if (given !== undefined) checkOptions(`deadLetterRetention in ${what}`, given, FIELDS);
  const { maxMessages = DEFAULT_MAX_MESSAGES, maxAge } = given ?? {};
  return { maxMessages, maxAgeMs: msOf(maxAge) ?? Number.POSITIVE_INFINITY };
}

/** Whether a dead letter is removed; asked for `count` messages in order, the oldest first. */
export function excessOf(
  { maxMessages, maxAgeMs }: Retention,
  count: number,
  now: number,
): (entry: QueueEntry) => boolean {
  let tooMany = count - maxMessages;
  return ({ message: { deadLetter } }) =>
    tooMany-- > 0 || (deadLetter !== undefined && deadLetter.deadAt + maxAgeMs <= now);
}
