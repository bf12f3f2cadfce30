import { isError, messageOf } from '../../../errors.ts';
import { type Failure, thrown } from '../../failure.ts';

/** The next step of a message. */
export type DeliveryOutcome =
  | {
      readonly kind: 'success';
      /** The text that a function returned, and that means nothing. */
      readonly meaningless?: string;
    }
  | (Failure & {
      readonly kind: 'retry';
      readonly level: 'info' | 'warn';
      /** The HTTP status, if that is the reason. */
      readonly status?: number;
    })
  | (Failure & { readonly kind: 'drop'; readonly level: 'debug' | 'warn' | 'error' });

const SUCCESS: DeliveryOutcome = { kind: 'success' };
const STATUSES: ReadonlySet<string> = new Set(['SUCCESS', 'RETRY', 'DROP', '']);

/** The application's answer to a delivery. */
export interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

export function retry(reason: string, level: 'info' | 'warn' = 'warn'): DeliveryOutcome & Failure {
  return { kind: 'retry', reason, level };
}

export function drop(level: 'debug' | 'warn' | 'error', reason: string): DeliveryOutcome & { kind: 'drop' } {
  return { kind: 'drop', level, reason };
}

/** The message has no event that can be read: no later attempt can change that. */
export function noEvent(error: unknown): DeliveryOutcome {
  return drop('error', `the message is not a CloudEvent: ${messageOf(error)}`);
}

/** A stop has aborted the delivery: no failure, the message comes again. */
export const BROKEN_OFF: DeliveryOutcome & Failure = retry('the subscription has ended');

/** The API document's table of single-message delivery outcomes. */
export function singleOutcome({ status, body }: Reply): DeliveryOutcome {
  if (status < 200 || status > 299) return unsuccessful(status);
  return body.length === 0 ? SUCCESS : byStatus(member(parse(body), 'status'));
}

/** The API document's table of bulk delivery outcomes, by entry ID. */
export function bulkOutcomes({ status, body }: Reply, entryIds: readonly string[]): Map<string, DeliveryOutcome> {
  const all = (outcome: DeliveryOutcome): Map<string, DeliveryOutcome> => new Map(entryIds.map((id) => [id, outcome]));
  if (status < 200 || status > 299) return all(unsuccessful(status));
  const statuses = member(parse(body), 'statuses');
  if (!Array.isArray(statuses)) return all(retry('the reply has no readable statuses'));
  const outcomes = all(retry('the reply has no status for this entry'));
  for (const entry of statuses as unknown[]) {
    const entryId = member(entry, 'entryId');
    const known = typeof entryId === 'string' && outcomes.has(entryId);
    if (known) outcomes.set(entryId, entryOutcome(member(entry, 'status')));
  }
  return outcomes;
}

/**
 * The value that a function in code has returned: a status as text, in any case; an object with a `status`, as over
 * HTTP; an error, as if it were thrown. Any other value is the result of its last call, such as Redis' `OK`, and says
 * nothing.
 */
export function returnedOutcome(value: unknown): DeliveryOutcome {
  if (isError(value)) return failedOutcome(value);
  const isText = typeof value === 'string';
  const status = isText ? value : member(value, 'status');
  if (typeof status !== 'string') return SUCCESS;
  const upper = status.toUpperCase();
  if (STATUSES.has(upper)) return byStatus(upper, 'the function returned');
  return isText ? { kind: 'success', meaningless: status } : byStatus(status, 'the function returned');
}

/** The call failed, or the function threw. */
export function failedOutcome(error: unknown): DeliveryOutcome {
  return { kind: 'retry', level: 'warn', ...thrown(error) };
}

function unsuccessful(status: number): DeliveryOutcome {
  if (status === 404) return drop('error', 'the application answered 404');
  return { kind: 'retry', reason: `the application answered ${status}`, level: 'warn', status };
}

function entryOutcome(status: unknown): DeliveryOutcome {
  return typeof status === 'string' && status !== '' ? byStatus(status) : retry('the entry has no status');
}

function byStatus(status: unknown, said = 'the application answered'): DeliveryOutcome {
  if (typeof status !== 'string' || status === '' || status === 'SUCCESS') return SUCCESS;
  if (status === 'DROP') return drop('warn', `${said} DROP`);
  if (status === 'RETRY') return retry(`${said} RETRY`, 'info');
  return retry(`${said} the unknown status ${JSON.stringify(status)}`);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/**
 * An own property of an object; a reply may be any JSON. Applications whose serializer writes names in another case
 * (`Status`, `entryID`) are understood too, as by Dapr; if several fit, the exact name counts, else the last one.
 */
function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const members = value as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(members, name)) return members[name];
  const lower = name.toLowerCase();
  const key = Object.keys(members).findLast((one) => one.length === name.length && one.toLowerCase() === lower);
  return key === undefined ? undefined : members[key];
}
