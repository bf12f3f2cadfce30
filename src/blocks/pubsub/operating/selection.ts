import type { GroupQueue, QueueEntry, QueueSelection } from '../../../components/queue-access.ts';
import { readInstant } from '../../../util/duration.ts';
import { nameOfKind } from '../../../util/known-fields.ts';
import {
  ANY_TEXT,
  ANYTHING,
  BOOLEAN,
  checkOptions,
  choice,
  INSTANT,
  invalidArgument,
  invalidIn,
  type OptionFields,
  whole,
} from '../../../util/option-fields.ts';
import { shown } from '../../../util/shown.ts';
import type { DeadLetterFilter, MessageSelection, QueuePageOptions, RedeliverOptions } from './queue-types.ts';

const MAX_LIMIT = 1_000;
const FILTER_FIELDS: OptionFields<DeadLetterFilter> = {
  topic: ANY_TEXT,
  group: ANY_TEXT,
  reason: ANY_TEXT,
  since: INSTANT,
  until: INSTANT,
};
const READ_FIELDS: OptionFields<QueuePageOptions> = {
  state: choice('ready', 'delayed', 'inFlight'),
  cursor: ANY_TEXT,
  limit: whole(1, MAX_LIMIT),
  reverse: BOOLEAN,
};
const REDELIVER_FIELDS: OptionFields<RedeliverOptions> = { data: ANYTHING, to: ANYTHING };

/** Checks the name of a queue; `what` names it. @throws SidecarError `ERR_INVALID_ARGUMENT`. */
export function checkQueue(queue: GroupQueue, what: string, argument: string): void {
  if (nameOfKind(queue) !== 'an object')
    throw invalidArgument(`${what} is ${nameOfKind(queue)}: expected an object`, argument);
  for (const name of ['topic', 'group'] as const) {
    const text: unknown = queue[name];
    if (typeof text !== 'string' || text === '')
      throw invalidArgument(
        `${name} of ${what} is ${shown(text)}: expected a text that is not empty`,
        `${argument}.${name}`,
      );
  }
}

/** @throws SidecarError `ERR_INVALID_ARGUMENT`. */
export function parseSelection(selection: MessageSelection, argument = 'selection'): QueueSelection {
  if (selection === 'all') return {};
  if (isList(selection)) {
    for (const key of selection)
      if (typeof key !== 'string')
        throw invalidArgument(`a key is ${JSON.stringify(key)}: expected a string`, 'selection');
    return { keys: selection };
  }
  checkOptions('the selection of messages', selection, FILTER_FIELDS, invalidIn(argument));
  const { topic, group, reason } = selection;
  const since = readInstant(selection.since) ?? Number.NEGATIVE_INFINITY;
  const until = readInstant(selection.until) ?? Number.POSITIVE_INFINITY;
  const matches = ({ message: { deadLetter } }: QueueEntry): boolean => {
    if (deadLetter === undefined) return false;
    const { deadAt } = deadLetter;
    return (
      (topic === undefined || deadLetter.topic === topic) &&
      (group === undefined || deadLetter.group === group) &&
      (reason === undefined || deadLetter.reason.includes(reason)) &&
      deadAt >= since &&
      deadAt < until
    );
  };
  return { matches };
}

function isList(selection: MessageSelection): selection is readonly string[] {
  return Array.isArray(selection);
}

/** @throws SidecarError `ERR_INVALID_ARGUMENT`. */
export function checkRedelivery(selection: QueueSelection, options: RedeliverOptions): void {
  checkOptions('options of redeliver', options, REDELIVER_FIELDS, invalidArgument);
  if (options.to !== undefined) checkQueue(options.to, 'the option to', 'options.to');
  if ('data' in options && options.data !== undefined && selection.keys?.length !== 1)
    throw invalidArgument('data is given for other than one message: expected one key', 'options.data');
}

/** @throws SidecarError `ERR_INVALID_ARGUMENT`. */
export function checkRead(options: QueuePageOptions): void {
  checkOptions('options of messages', options, READ_FIELDS, invalidArgument);
}
