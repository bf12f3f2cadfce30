import { SidecarError } from '../errors.ts';
import { checkFields, fieldNames } from '../util/known-fields.ts';
import type { QueueEntry } from './queue-access.ts';

/** After this time without consumers, a group that has messages is abandoned. */
export const ABANDONED_AFTER_MS = 600_000;

/** How long dead letters are kept that nobody has subscribed to; the oldest are removed first. @public */
export interface DeadLetterRetention {
  /** The most messages for a topic. Default: 10,000. */
  readonly maxMessages?: number;
  /** The longest time, in milliseconds. Default: no limit. */
  readonly maxAgeMs?: number;
}

const FIELDS = fieldNames<DeadLetterRetention>({ maxMessages: true, maxAgeMs: true });
const DEFAULT_MAX_MESSAGES = 10_000;

/** Retention with its defaults. `what` names the options. @throws SidecarError `ERR_CONFIGURATION`. */
export function checkRetention(given: DeadLetterRetention | undefined, what: string): Required<DeadLetterRetention> {
  if (given !== undefined) checkFields(given, FIELDS, `deadLetterRetention of ${what}`, 'ERR_CONFIGURATION');
  const { maxMessages, maxAgeMs } = given ?? {};
  checkCount(maxMessages, `deadLetterRetention.maxMessages of ${what}`);
  if (maxAgeMs !== undefined && !(typeof maxAgeMs === 'number' && maxAgeMs >= 1))
    throw refusalOf(maxAgeMs, `deadLetterRetention.maxAgeMs of ${what}`, 'a number of milliseconds, 1 or more');
  return { maxMessages: maxMessages ?? DEFAULT_MAX_MESSAGES, maxAgeMs: maxAgeMs ?? Number.POSITIVE_INFINITY };
}

/** A count, or infinity for no limit. @throws SidecarError `ERR_CONFIGURATION`. */
export function checkCount(value: number | undefined, what: string): void {
  if (value === undefined || value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && value >= 1)) return;
  throw refusalOf(value, what, 'a whole number of 1 or more, or Infinity');
}

function refusalOf(value: unknown, what: string, expected: string): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', `${what} is ${String(value)}: expected ${expected}`);
}

/** Whether a dead letter is removed; asked for `count` messages in order, the oldest first. */
export function excessOf(
  { maxMessages, maxAgeMs }: Required<DeadLetterRetention>,
  count: number,
  now: number,
): (entry: QueueEntry) => boolean {
  let tooMany = count - maxMessages;
  return ({ message: { deadLetter } }) =>
    tooMany-- > 0 || (deadLetter !== undefined && Date.parse(deadLetter.at) + maxAgeMs <= now);
}
