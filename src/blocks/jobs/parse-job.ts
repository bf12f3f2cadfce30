import { type JsonMember, jsonMembers, parseJsonBody } from '../../util/json-text.ts';
import { validator } from '../../util/schema.ts';
import type { Wire } from '../../wire.ts';
import type { JobErrors } from './errors.ts';
import type { JobFields, JobOptions, PolicyFields } from './job.ts';

/** How often a job may run at most. */
const MOST_REPEATS = 2 ** 31 - 1;

/** The spellings of a field; the first is ours. */
const JOB_FIELDS = fieldsOf([
  ['name'],
  ['schedule'],
  ['dueTime', 'due_time'],
  ['repeats'],
  ['ttl'],
  ['overwrite'],
  ['failurePolicy', 'failure_policy'],
]);
const CONSTANT_FIELDS = fieldsOf([['maxRetries', 'max_retries'], ['interval']]);

type Fields = Readonly<Record<string, unknown>>;

const text = { type: 'string' };
const problemOf = validator(
  {
    type: 'object',
    properties: {
      schedule: text,
      dueTime: text,
      repeats: { type: 'integer', minimum: 1, maximum: MOST_REPEATS },
      ttl: text,
      overwrite: { type: 'boolean' },
      failurePolicy: {
        type: 'object',
        properties: {
          constant: {
            type: 'object',
            properties: { maxRetries: { type: 'integer', minimum: 0, maximum: MOST_REPEATS }, interval: text },
          },
          drop: { type: 'object' },
        },
      },
    },
  },
  'job',
);

/** Which bodies are taken. */
export interface BodyRules {
  /** As protojson takes them: numbers as text, empty objects as unset. */
  readonly lenient: boolean;
}

/** The rules of a wire. */
export function bodyRules(wire: Wire): BodyRules {
  return { lenient: wire.name === 'dapr' };
}

/**
 * Reads the body of a schedule request. `data` is taken as the text that it is, so that its numbers keep every digit.
 *
 * @throws SidecarError `ERR_MALFORMED_REQUEST` or `…_SCHEDULER_JOB_NAME`, both 400.
 */
export function parseJobBody(body: Buffer, rules: BodyRules, errors: JobErrors): JobFields {
  if (body.length === 0 && rules.lenient) return {};
  const json = parseJson(body, errors);
  const { name, ...given } = pickFields(json.value, JOB_FIELDS, 'job', errors);
  if (name !== undefined && !(rules.lenient && name === '')) throw errors.nameInBody();
  const fields = checkedFields(given, rules, errors);
  const data = Object.hasOwn(json.value, 'data') ? lastOf(jsonMembers(json.text), 'data') : undefined;
  return data === undefined ? fields : { ...fields, data };
}

/** The same from code. */
export function parseJobOptions(options: JobOptions, rules: BodyRules, errors: JobErrors): JobFields {
  if (!isObject(options)) throw errors.malformed(`expected an object, actual is ${JSON.stringify(options)}`);
  const { data, dueTime, ttl, ...rest } = options;
  const given = { ...rest, dueTime: instantText(dueTime), ttl: instantText(ttl) };
  const fields = checkedFields(pickFields(given, JOB_FIELDS, 'job', errors), rules, errors);
  if (data === undefined) return fields;
  const json = JSON.stringify(data) as string | undefined;
  if (json === undefined) throw errors.malformed(`data is a ${typeof data}: expected a value that JSON can hold`);
  return { ...fields, data: json };
}

function instantText(value: unknown): unknown {
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : value;
}

function parseJson(body: Buffer, errors: JobErrors): { readonly text: string; readonly value: Fields } {
  const refuse = (problem: string, cause?: unknown): Error =>
    errors.malformed(`${problem}: expected a JSON object`, cause);
  const { text, value } = parseJsonBody(body, refuse);
  if (isObject(value)) return { text, value };
  throw refuse(`the body is ${Array.isArray(value) ? 'an array' : typeof value}`);
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Of a key that is written twice, the last one counts, as everywhere in JSON. */
function lastOf(members: readonly JsonMember[], key: string): string | undefined {
  return members.findLast((member) => member.key === key)?.value;
}

type FieldNames = readonly (readonly [name: string, otherSpelling?: string])[];

function fieldsOf(names: FieldNames): FieldNames {
  return names;
}

/** The known fields of an object under our spelling; `null` is unset, the rest is left out. */
function pickFields(from: Fields, names: FieldNames, what: string, errors: JobErrors): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const [name, other] of names) {
    const isPresent = Object.hasOwn(from, name);
    const isOther = other !== undefined && Object.hasOwn(from, other);
    if (isPresent && isOther) throw errors.malformed(`${what} has both ${name} and ${other}: expected one of them`);
    const value = isPresent ? from[name] : isOther ? from[other] : undefined;
    if (value !== undefined && value !== null) picked[name] = value;
  }
  return picked;
}

function checkedFields(given: Fields, rules: BodyRules, errors: JobErrors): JobFields {
  const { failurePolicy, repeats, ...rest } = given;
  const policy = isObject(failurePolicy) ? pickPolicy(failurePolicy, rules, errors) : failurePolicy;
  const fields = {
    ...rest,
    ...(repeats === undefined ? undefined : { repeats: numberIn(repeats, rules) }),
    ...(policy === undefined ? undefined : { failurePolicy: policy }),
  };
  const problem = problemOf(fields);
  if (problem !== undefined) throw errors.malformed(problem);
  // The schema has just said so.
  return fields as JobFields;
}

/** A policy is one of `constant` and `drop`; nothing at all is one only to lenient rules, and then the default. */
function pickPolicy(given: Fields, rules: BodyRules, errors: JobErrors): unknown {
  const set = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  const known = set.filter(([name]) => name === 'constant' || name === 'drop');
  const counted = rules.lenient ? known : set;
  const [only] = counted;
  if (only === undefined && rules.lenient) return undefined;
  if (only === undefined || counted.length > 1 || known.length === 0) {
    const actual = counted.map(([name]) => name).join(' and ') || 'none';
    throw errors.malformed(`job.failurePolicy must have exactly one of constant and drop: actual is ${actual}`);
  }
  const [name, value] = only;
  if (name === 'drop') return isObject(value) ? ({ drop: {} } satisfies PolicyFields) : { drop: value };
  if (!isObject(value)) return { constant: value };
  const { maxRetries, ...constant } = pickFields(value, CONSTANT_FIELDS, 'job.failurePolicy.constant', errors);
  return {
    constant: { ...constant, ...(maxRetries === undefined ? undefined : { maxRetries: numberIn(maxRetries, rules) }) },
  };
}

function numberIn(value: unknown, rules: BodyRules): unknown {
  return rules.lenient && typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
}
