import type { PolicyFields } from '../../../timed/job.ts';
import { policyOf } from '../../../timed/planning/policy.ts';
import { durationText, POINT_IN_TIME, timeText } from '../../../timed/times-in-code.ts';
import { requiredJsonText } from '../../../util/json-value.ts';
import { ANYTHING, checkOptions, choice, field, type OptionFields, whole } from '../../../util/option-fields.ts';
import { checkPayload } from '../../../util/payload-limit.ts';
import { checkRetry, type RetryOptions } from '../../../util/retry-options.ts';
import { shown } from '../../../util/shown.ts';
import { checkTickName } from '../model/names.ts';
import type { TimerFields } from './fields.ts';
import { malformedTick } from './parse-tick.ts';
import type { ActorReminder } from './reminder-info.ts';

/** When a timer of an actor is due, and what it hands over. @public */
export interface ActorTimerOptions {
  /**
   * When it is due first: a duration from now on (`30m`, `3d`, `P1M`; a number is one of milliseconds), a `Date`, or a
   * text of RFC 3339 with an offset. In the past: at once. Default: at once.
   */
  readonly dueTime?: number | string | Date | undefined;
  /** The time between two calls: a duration (`1h`, `1d`, `P1M`; a number is one of milliseconds). Default: one call. */
  readonly period?: number | string | undefined;
  /** How many calls there are in all, the first included; needs `period`. Default: no end. */
  readonly repeats?: number | undefined;
  /** After what no call begins any more, in the forms of `dueTime`; a duration counts from the first call. Default: no end. */
  readonly ttl?: number | string | Date | undefined;
  /** What is handed over with each call: any JSON value. Default: nothing. */
  readonly data?: unknown;
}

/** When a reminder of an actor is due, and what it hands over. @public */
export interface ActorReminderOptions extends ActorTimerOptions {
  /** When and how often a call that has failed is tried again. Default: 3 retries, 1 s apart. */
  readonly retry?: Omit<RetryOptions, 'retryIf'> | undefined;
  /**
   * How to treat a reminder of the name that is there already. `replace`: its times and counts begin again. `keep`: it
   * stays as it is. Default: `replace`.
   */
  readonly ifExists?: 'replace' | 'keep' | undefined;
}

/**
 * The reminders of an actor, as it changes them itself. They outlive the process, and call `onReminder`.
 *
 * What a turn sets and deletes is written in the commit of the turn, together with its state; none of it if the turn
 * fails. So it can be called in a turn only: in a method, in `onReminder`, `onTimer` and `onActivate`.
 *
 * @public
 */
export interface ActorReminders {
  /**
   * Sets a reminder, which is stored at the end of the turn. Its times count from this call.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for a name or options that cannot be.
   * @example
   * ```ts
   * class Cart extends Actor {
   *   touch(): void {
   *     this.reminders.set('expire', { dueTime: '30m', data: { reason: 'idle' } });
   *     this.reminders.set('report', { dueTime: '1d', period: '1d', ifExists: 'keep' });
   *   }
   * }
   * ```
   */
  set(name: string, options?: ActorReminderOptions): void;
  /** Deletes a reminder, if it is there: at the end of the turn. @throws SidecarError `ERR_INVALID_ARGUMENT` for a bad name */
  delete(name: string): void;
  /** A reminder, as this turn leaves it. @throws SidecarError `ERR_ACTOR_REMINDER_GET` when the store fails */
  get(name: string): Promise<ActorReminder | undefined>;
}

/**
 * The timers of an actor: in the memory of its host, until the actor becomes inactive. They call `onTimer`. As
 * {@link ActorReminders}, they are changed at the end of the turn, unless it fails.
 *
 * @public
 */
export interface ActorTimers {
  /**
   * Sets a timer; replaces one of that name. Its times count from this call.
   *
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for a name or options that cannot be.
   * @example
   * ```ts
   * class Buffered extends Actor {
   *   override onActivate(): void {
   *     this.timers.set('flush', { dueTime: '5s', period: '5s' });
   *   }
   * }
   * ```
   */
  set(name: string, options?: ActorTimerOptions): void;
  /** Deletes a timer, if it is there. @throws SidecarError `ERR_INVALID_ARGUMENT` for a bad name */
  delete(name: string): void;
}

/** A call of a reminder or timer, beside its name and its data. @public */
export interface ActorTickContext {
  /** The instant for which the call was planned, in milliseconds since 1970. */
  readonly dueAt: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

const PERIOD = field(
  (value) => typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value)),
  'a duration such as 1h, 1d or P1M, or a number of milliseconds',
);
const TIMER: OptionFields<ActorTimerOptions> = {
  dueTime: POINT_IN_TIME,
  period: PERIOD,
  repeats: whole(1),
  ttl: POINT_IN_TIME,
  data: ANYTHING,
};
const REMINDER: OptionFields<ActorReminderOptions> = {
  ...TIMER,
  retry: ANYTHING,
  ifExists: choice('replace', 'keep'),
};

type Kind = 'reminder' | 'timer';

/** The fields of a timer that code sets. @throws SidecarError `ERR_MALFORMED_REQUEST` or `ERR_BAD_REQUEST` */
export function timerFieldsOf(name: string, options: ActorTimerOptions): TimerFields {
  return checkedFields('timer', name, options, TIMER);
}

/** The fields of a reminder that code sets. @throws as {@link timerFieldsOf} */
export function reminderFieldsOf(
  name: string,
  options: ActorReminderOptions,
): TimerFields & { readonly failurePolicy: PolicyFields | undefined } {
  const fields = checkedFields('reminder', name, options, REMINDER);
  const { retry } = options;
  const malformed = malformedIn('reminder');
  checkRetry(retry, 'retry', malformed);
  if (retry !== undefined && 'retryIf' in retry)
    throw malformed(
      'retry.retryIf is a function, which is not kept with a reminder: expected it to be left out',
      'options.retry.retryIf',
    );
  return { ...fields, failurePolicy: retry && policyOf(retry) };
}

function malformedIn(kind: Kind): (problem: string, argument?: string, cause?: unknown) => Error {
  return (problem, argument, cause) => malformedTick(kind, problem, { argument, cause });
}

function checkedFields<T extends ActorTimerOptions>(
  kind: Kind,
  name: string,
  options: T,
  known: OptionFields<T>,
): TimerFields {
  const malformed = malformedIn(kind);
  checkTickName(kind, name);
  checkOptions(`the ${kind}`, options, known, malformed);
  const { dueTime, period, repeats, ttl, data } = options;
  if (repeats !== undefined && (period === undefined || /^R/.test(String(period))))
    throw malformed(
      `repeats is ${repeats}, and period ${shown(period)}: expected a duration without a count beside it`,
      'options.repeats',
    );
  return {
    dueTime: textIfGiven(timeText(dueTime)),
    period: textIfGiven(durationText(period)),
    repeats,
    ttl: textIfGiven(timeText(ttl)),
    data: data === undefined ? undefined : dataText(kind, data, malformed),
  };
}

/** What cannot be read as a time is still a text: planning refuses it. */
function textIfGiven(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value);
}

function dataText(
  kind: Kind,
  data: unknown,
  malformed: (problem: string, argument?: string, cause?: unknown) => Error,
): string {
  const text = requiredJsonText(data, 'a value that JSON can hold', (problem, cause) =>
    malformed(`data ${problem}`, 'options.data', cause),
  );
  return checkPayload(text, `the data of the ${kind}`);
}
