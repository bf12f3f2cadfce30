import { SidecarError, type SidecarErrorOptions } from '../../../errors.ts';
import { type FieldRules, pickFields, pickPolicy, policySchema } from '../../../timed/policy-fields.ts';
import { isJsonObject, type JsonObject, jsonMembers, parseJsonObject } from '../../../util/json-text.ts';
import { checkPayload } from '../../../util/payload-limit.ts';
import { type Validator, validator } from '../../../util/schema.ts';
import { inSchemaCase } from '../../../util/schema-case.ts';
import type { Wire } from '../../../wire.ts';
import type { ReminderFields, TimerFields } from './fields.ts';

const TEXT = { type: 'string' };
const TIMES = { dueTime: TEXT, period: TEXT, ttl: TEXT };
const POLICY_NAMES = {
  properties: { constant: { properties: { maxRetries: {}, max_retries: {}, interval: {} } }, drop: {} },
};
/** The names of all fields, for the wire on which they may be written in any case. */
const NAMES = {
  properties: {
    ...{ ...TIMES, data: {}, callback: TEXT, overwrite: {} },
    ...{ failurePolicy: POLICY_NAMES, failure_policy: POLICY_NAMES },
  },
};
const TIMER_FIELDS = [['dueTime'], ['period'], ['ttl'], ['callback']] as const;
const REMINDER_FIELDS = [...[['dueTime'], ['period'], ['ttl'], ['overwrite']], ['failurePolicy', 'failure_policy']] as [
  string,
  string?,
][];

/** @throws SidecarError `ERR_MALFORMED_REQUEST`. */
export function malformedTick(
  kind: 'reminder' | 'timer',
  problem: string,
  { cause, argument }: Pick<SidecarErrorOptions, 'cause' | 'argument'> = {},
): SidecarError {
  return new SidecarError('ERR_MALFORMED_REQUEST', `${kind} is malformed: ${problem}`, { cause, argument });
}

/**
 * Reads the bodies of requests that set reminders and timers. `data` are the text that they are: numbers keep every digit.
 * Fields that are `null` are missing, and those that are not known are ignored.
 */
export class TickParser {
  readonly #wire: Wire;
  readonly #reminderProblem: Validator;
  readonly #timerProblem: Validator;
  readonly #rules: FieldRules;

  constructor(wire: Wire) {
    this.#wire = wire;
    const { lenientBodies, maxCount } = wire.jobs;
    const failurePolicy = policySchema(maxCount);
    const reminder = { ...TIMES, overwrite: { type: 'boolean' }, failurePolicy };
    this.#reminderProblem = validator({ type: 'object', properties: reminder }, 'reminder');
    this.#timerProblem = validator({ type: 'object', properties: { ...TIMES, callback: TEXT } }, 'timer');
    this.#rules = { lenientBodies, malformed: (problem) => malformedTick('reminder', problem) };
  }

  /** @throws SidecarError `ERR_MALFORMED_REQUEST`, or `ERR_BODY_TOO_LARGE` for data that are too large. */
  reminder(body: Buffer): ReminderFields {
    const { value, data } = this.#read('reminder', body);
    const { overwrite = true, failurePolicy, ...times } = pickFields(value, REMINDER_FIELDS, 'reminder', this.#rules);
    const policy = isJsonObject(failurePolicy) ? pickPolicy(failurePolicy, 'reminder', this.#rules) : failurePolicy;
    const given: Record<string, unknown> = { ...times, overwrite };
    if (policy !== undefined) given['failurePolicy'] = policy;
    const problem = this.#reminderProblem(given);
    if (problem !== undefined) throw malformedTick('reminder', problem);
    // Checked by the schema above.
    return { ...(given as unknown as ReminderFields), data };
  }

  /** @throws as {@link TickParser.reminder}. */
  timer(body: Buffer): TimerFields {
    const { value, data } = this.#read('timer', body);
    const malformed = (problem: string): Error => malformedTick('timer', problem);
    const given: TimerFields = pickFields(value, TIMER_FIELDS, 'timer', { malformed });
    const problem = this.#timerProblem(given);
    if (problem !== undefined) throw malformed(problem);
    return { ...given, data };
  }

  #read(kind: 'reminder' | 'timer', body: Buffer): { readonly value: JsonObject; readonly data: string | undefined } {
    const { text, value } = parseJsonObject(body, (problem, cause) =>
      malformedTick(kind, `${problem}: expected a JSON object`, { cause }),
    );
    const { keysInAnyCase } = this.#wire;
    const isData = (key: string): boolean => (keysInAnyCase ? key.toLowerCase() : key) === 'data';
    const data = jsonMembers(text).findLast(({ key }) => isData(key))?.value;
    return {
      value: keysInAnyCase ? (inSchemaCase(value, NAMES) as JsonObject) : value,
      data: checkPayload(data, `the data of the ${kind}`),
    };
  }
}
