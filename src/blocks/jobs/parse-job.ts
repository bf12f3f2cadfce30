import type { IfJobExists, JobFields } from '../../timed/job.ts';
import { policyOf } from '../../timed/planning/policy.ts';
import {
  type FieldNames,
  type FieldRules,
  numberIn,
  pickFields,
  pickPolicy,
  policySchema,
} from '../../timed/policy-fields.ts';
import { POINT_IN_TIME, scheduleText, timeText } from '../../timed/times-in-code.ts';
import { definedOnly } from '../../util/defined-only.ts';
import { isJsonObject, jsonMember, parseJsonObject } from '../../util/json-text.ts';
import { requiredJsonText } from '../../util/json-value.ts';
import { ANYTHING, checkOptions, type OptionFields } from '../../util/option-fields.ts';
import { checkPayload } from '../../util/payload-limit.ts';
import { checkRetry } from '../../util/retry-options.ts';
import { type Validator, validator } from '../../util/schema.ts';
import type { JobRules } from '../../wire.ts';
import { keptRetry, type RecurringJobOptions, refuseFailurePolicy } from './model/define-job.ts';
import type { JobErrors } from './model/errors.ts';
import type { JobOptions } from './model/job.ts';

/** The accepted spellings of each field, the internal one first. */
const JOB_FIELDS = fieldsOf([
  ['schedule'],
  ['dueTime', 'due_time'],
  ['repeats'],
  ['ttl'],
  ['failurePolicy', 'failure_policy'],
]);
const BODY_FIELDS = fieldsOf([...JOB_FIELDS, ['overwrite']]);
const OPTION_FIELDS = fieldsOf([...JOB_FIELDS, ['ifExists']]);

const text = { type: 'string' };

function fieldsValidator(maxCount: number): Validator {
  const properties = {
    schedule: text,
    dueTime: text,
    repeats: { type: 'integer', minimum: 1, maximum: maxCount },
    ttl: text,
    overwrite: { type: 'boolean' },
    ifExists: { enum: ['fail', 'keep', 'replace', 'update'] satisfies IfJobExists[] },
    failurePolicy: policySchema(maxCount),
  };
  return validator({ type: 'object', properties }, 'job');
}

/** Values that a body may have too are checked as those of a body. */
const OPTIONS_IN_CODE: OptionFields<JobOptions> = {
  schedule: ANYTHING,
  dueTime: POINT_IN_TIME,
  repeats: ANYTHING,
  ttl: POINT_IN_TIME,
  data: ANYTHING,
  ifExists: ANYTHING,
  retry: ANYTHING,
};
function fieldsOf(names: FieldNames): FieldNames {
  return names;
}

/** Reads jobs, by the rules of a wire: from the bodies of requests, and from options in code. */
export class JobParser {
  readonly #rules: JobRules;
  readonly #errors: JobErrors;
  readonly #problemOf: Validator;
  readonly #fieldRules: FieldRules;

  constructor(rules: JobRules, errors: JobErrors) {
    this.#rules = rules;
    this.#errors = errors;
    this.#problemOf = fieldsValidator(rules.maxCount);
    const malformed = (problem: string, argument?: string): Error => errors.malformed(problem, argument);
    this.#fieldRules = { lenientBodies: rules.lenientBodies, malformed };
  }

  /**
   * Reads the body of a schedule request. `data` is taken as the text that it is, so that its numbers keep every digit.
   *
   * @throws SidecarError `ERR_MALFORMED_REQUEST` or `…_SCHEDULER_JOB_NAME`, both 400; `ERR_BODY_TOO_LARGE` (413) for
   * data that is too large.
   */
  parseBody(body: Buffer): JobFields {
    if (body.length === 0 && this.#rules.lenientBodies) return { ifExists: 'fail' };
    const json = parseJsonObject(body, (problem, cause) =>
      this.#errors.malformed(`${problem}: expected a JSON object`, undefined, cause),
    );
    const { name = null } = json.value;
    const given = pickFields(json.value, BODY_FIELDS, 'job', this.#fieldRules);
    if (name !== null && !(this.#rules.lenientBodies && name === '')) throw this.#errors.nameInBody();
    if (Object.hasOwn(json.value, 'data')) given['data'] = checkData(jsonMember(json.text, 'data'));
    return this.#checkedFields(given);
  }

  /** Reads options in code. */
  parseOptions(options: JobOptions): JobFields {
    this.#checkNames(options);
    const { data, schedule, dueTime, ttl, retry, ...rest } = options;
    const given = { ...rest, schedule: scheduleText(schedule), dueTime: timeText(dueTime), ttl: timeText(ttl) };
    const checked = this.#checkedFields(pickFields(given, OPTION_FIELDS, 'job', this.#fieldRules));
    const fields = retry === undefined ? checked : { ...checked, failurePolicy: policyOf(retry) };
    if (data === undefined) return fields;
    return { ...fields, data: this.#dataText(data) };
  }

  /** Reads the definition of a recurring job. It has no end: a job that has ended would be created again at every start. */
  parseRecurring({ schedule, dueTime, data, retry }: RecurringJobOptions<unknown, unknown>): JobFields {
    return this.parseOptions(
      definedOnly({ schedule, dueTime, data, retry: keptRetry(retry), ifExists: 'update' as const }),
    );
  }

  /** Refuses unknown fields of options in code. Over HTTP they are ignored, as Dapr does. */
  #checkNames(options: JobOptions): void {
    const malformed = (problem: string, argument?: string): Error => this.#errors.malformed(problem, argument);
    refuseFailurePolicy('the job', Object(options), malformed);
    checkOptions('the job', options, OPTIONS_IN_CODE, malformed);
    const { retry } = options;
    checkRetry(retry, 'retry', malformed);
    if (retry !== undefined && 'retryIf' in retry)
      throw malformed(
        'retry.retryIf is a function, which is not kept with a job: expected it in defineJob',
        'options.retry.retryIf',
      );
  }

  #dataText(data: unknown): string {
    const refuse = (problem: string, cause?: unknown): Error =>
      this.#errors.malformed(`data ${problem}`, 'options.data', cause);
    return checkData(requiredJsonText(data, 'a value that JSON can hold', refuse));
  }

  /** Checks fields that were picked, and completes them in place: every schedule request passes here. */
  #checkedFields(fields: Record<string, unknown>): JobFields {
    const { failurePolicy, repeats } = fields;
    if (isJsonObject(failurePolicy)) fields['failurePolicy'] = pickPolicy(failurePolicy, 'job', this.#fieldRules);
    if (repeats !== undefined) fields['repeats'] = numberIn(repeats, this.#fieldRules);
    const problem = this.#problemOf(fields);
    if (problem !== undefined) throw this.#errors.malformed(problem, argumentOf(problem));
    return this.#withIfExists(fields);
  }

  #withIfExists(checked: Record<string, unknown>): JobFields {
    if (checked['overwrite'] === undefined) {
      checked['ifExists'] ??= 'fail';
      // Checked by the schema above.
      return checked as unknown as JobFields;
    }
    const { overwrite, ...fields } = checked as unknown as JobFields & { readonly overwrite: boolean };
    return { ...fields, ifExists: overwrite ? 'replace' : 'fail' };
  }
}

/** Together with the rest of the job, the data has to fit into one stored value. */
function checkData<T extends string | undefined>(text: T): T {
  return checkPayload(text, 'the data of the job');
}

/** A problem begins with the path of the field, such as `job.schedule`. */
function argumentOf(problem: string): string {
  return problem.replace(/^job((?:\.\w+)*).*$/s, 'options$1');
}
