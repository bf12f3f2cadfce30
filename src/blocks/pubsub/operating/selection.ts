import type { GroupQueue, QueueEntry, QueueSelection } from '../../../components/queue-access.ts';
import { SidecarError } from '../../../errors.ts';
import { checkLimit } from '../../../util/check-limit.ts';
import { checkFields, fieldNames } from '../../../util/known-fields.ts';
import { shown } from '../../../util/shown.ts';
import type { DeadLetterFilter, MessageSelection, QueueReadOptions, RedeliverOptions } from './queue-types.ts';

const FILTER_FIELDS = fieldNames<DeadLetterFilter>({
  topic: true,
  group: true,
  reason: true,
  since: true,
  until: true,
});
const READ_FIELDS = fieldNames<QueueReadOptions>({ state: true, cursor: true, limit: true, reverse: true });
const REDELIVER_FIELDS = fieldNames<RedeliverOptions>({ data: true, to: true });
const STATES: readonly unknown[] = ['ready', 'delayed', 'inFlight'];
const MAX_LIMIT = 1_000;

/** Checks the name of a queue; `what` names it. @throws SidecarError `ERR_BAD_REQUEST`. */
export function checkQueue(queue: GroupQueue, what: string): void {
  for (const name of ['topic', 'group'] as const) {
    const text: unknown = queue[name];
    if (typeof text !== 'string' || text === '')
      throw invalid(`${name} of ${what} is ${shown(text)}: expected a text that is not empty`);
  }
}

/** @throws SidecarError `ERR_BAD_REQUEST`. */
export function parseSelection(selection: MessageSelection): QueueSelection {
  if (selection === 'all') return {};
  if (isList(selection)) {
    for (const key of selection)
      if (typeof key !== 'string') throw invalid(`a key is ${JSON.stringify(key)}: expected a string`);
    return { keys: selection };
  }
  checkFields(selection, FILTER_FIELDS, 'the selection of messages');
  const { topic, group, reason } = selection;
  const [since, until] = [instant(selection.since, 'since'), instant(selection.until, 'until')];
  const matches = ({ message: { deadLetter } }: QueueEntry): boolean => {
    if (deadLetter === undefined) return false;
    const at = Date.parse(deadLetter.at);
    return (
      (topic === undefined || deadLetter.topic === topic) &&
      (group === undefined || deadLetter.group === group) &&
      (reason === undefined || deadLetter.reason.includes(reason)) &&
      (since === undefined || at >= since) &&
      (until === undefined || at < until)
    );
  };
  return { matches };
}

function isList(selection: MessageSelection): selection is readonly string[] {
  return Array.isArray(selection);
}

function instant(given: Date | number | undefined, name: string): number | undefined {
  if (given === undefined) return undefined;
  const at = Number(given);
  if (Number.isNaN(at)) throw invalid(`${name} is ${String(given)}: expected a Date or milliseconds since 1970`);
  return at;
}

/** @throws SidecarError `ERR_BAD_REQUEST`. */
export function checkRedelivery(selection: QueueSelection, options: RedeliverOptions): void {
  checkFields(options, REDELIVER_FIELDS, 'options of redeliver');
  if (options.to !== undefined) checkQueue(options.to, 'the option to');
  if ('data' in options && options.data !== undefined && selection.keys?.length !== 1)
    throw invalid('data is given for other than one message: expected one key');
}

/** @throws SidecarError `ERR_BAD_REQUEST`. */
export function checkRead(options: QueueReadOptions): void {
  checkFields(options, READ_FIELDS, 'options of messages');
  const { state, limit = 1 } = options;
  checkLimit(limit, MAX_LIMIT);
  if (state !== undefined && !STATES.includes(state))
    throw invalid(`state is ${JSON.stringify(state)}: expected ${STATES.join(', ')}`);
}

function invalid(message: string): SidecarError {
  return new SidecarError('ERR_BAD_REQUEST', message);
}
