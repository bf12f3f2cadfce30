import { messageOf, SidecarError } from '../../../errors.ts';
import { definedOnly } from '../../../util/defined-only.ts';
import { type JsonMember, jsonMembers, parseJsonBody } from '../../../util/json-text.ts';
import { jsonTextOf } from '../../../util/json-value.ts';
import { fieldNames, fieldsProblem } from '../../../util/known-fields.ts';
import { type Validator, validator } from '../../../util/schema.ts';
import { type Wire, type WireName, wireNames } from '../../../wire.ts';
import type { JobErrors } from '../model/errors.ts';
import type {
  IfJobExists,
  JobDefinition,
  JobFields,
  JobHandlerOptions,
  JobOptions,
  PolicyFields,
} from '../model/job.ts';

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
/** In code there is more to say about a job of the same name. */
const OPTION_FIELDS = fieldsOf([...JOB_FIELDS, ['ifExists']]);
const CONSTANT_FIELDS = fieldsOf([['maxRetries', 'max_retries'], ['interval']]);

/** The rules of the wire, and the errors of what breaks them. */
interface Parsing {
  readonly wire: Wire;
  readonly errors: JobErrors;
}

type Fields = Readonly<Record<string, unknown>>;

const text = { type: 'string' };

function fieldsValidator(wire: WireName): Validator {
  const { mostCount } = wireNames(wire).jobs;
  const constant = {
    type: 'object',
    properties: { maxRetries: { type: 'integer', minimum: 0, maximum: mostCount }, interval: text },
  };
  const properties = {
    schedule: text,
    dueTime: text,
    repeats: { type: 'integer', minimum: 1, maximum: mostCount },
    ttl: text,
    overwrite: { type: 'boolean' },
    ifExists: { enum: ['fail', 'keep', 'replace', 'update'] satisfies IfJobExists[] },
    failurePolicy: { type: 'object', properties: { constant, drop: { type: 'object' } } },
  };
  return validator({ type: 'object', properties }, 'job');
}

const validators: Readonly<Record<WireName, Validator>> = {
  sidecar: fieldsValidator('sidecar'),
  dapr: fieldsValidator('dapr'),
};

/**
 * Reads the body of a schedule request. `data` is taken as the text that it is, so that its numbers keep every digit.
 *
 * @throws SidecarError `ERR_MALFORMED_REQUEST` or `…_SCHEDULER_JOB_NAME`, both 400.
 */
export function parseJobBody(body: Buffer, { wire, errors }: Parsing): JobFields {
  if (body.length === 0 && wire.jobs.lenientBodies) return { ifExists: 'fail' };
  const json = parseJson(body, errors);
  const { name, ...given } = pickFields(json.value, JOB_FIELDS, 'job', errors);
  if (name !== undefined && !(wire.jobs.lenientBodies && name === '')) throw errors.nameInBody();
  const fields = checkedFields(given, wire, errors);
  const data = Object.hasOwn(json.value, 'data') ? lastOf(jsonMembers(json.text), 'data') : undefined;
  return data === undefined ? fields : { ...fields, data };
}

/** The same from code. */
export function parseJobOptions(options: JobOptions, { wire, errors }: Parsing): JobFields {
  const problem = optionsProblem(options);
  if (problem !== undefined) throw errors.malformed(problem);
  const { data, dueTime, ttl, ...rest } = options;
  const given = { ...rest, dueTime: instantText(dueTime), ttl: instantText(ttl) };
  const fields = checkedFields(pickFields(given, OPTION_FIELDS, 'job', errors), wire, errors);
  if (data === undefined) return fields;
  return { ...fields, data: dataText(data, errors) };
}

function dataText(data: unknown, errors: JobErrors): string {
  let text: string | undefined;
  try {
    text = jsonTextOf(data);
  } catch (cause) {
    throw errors.malformed(`data ${messageOf(cause)}`, cause);
  }
  if (text === undefined) throw errors.malformed(`data is a ${typeof data}: expected a value that JSON can hold`);
  return text;
}

const CODE_FIELDS: ReadonlySet<string> = fieldNames<JobOptions>({
  schedule: true,
  dueTime: true,
  repeats: true,
  ttl: true,
  data: true,
  ifExists: true,
  overwrite: true,
  failurePolicy: true,
});

/** Fields in code that there are not; over HTTP they are left out, as Dapr does it. */
function optionsProblem(options: JobOptions): string | undefined {
  const { failurePolicy } = Object(options) as { readonly failurePolicy?: unknown };
  const constant = isObject(failurePolicy) ? failurePolicy['constant'] : undefined;
  return (
    fieldsProblem(options, CODE_FIELDS, 'the job') ??
    (isObject(failurePolicy) ? fieldsProblem(failurePolicy, POLICY_KINDS, 'failurePolicy') : undefined) ??
    (isObject(constant) ? fieldsProblem(constant, CONSTANT_NAMES, 'failurePolicy.constant') : undefined)
  );
}

const POLICY_KINDS: ReadonlySet<string> = new Set(['constant', 'drop']);
const CONSTANT_NAMES: ReadonlySet<string> = new Set(['maxRetries', 'interval']);

const DEFINITION_FIELDS: ReadonlySet<string> = fieldNames<JobDefinition>({
  schedule: true,
  dueTime: true,
  data: true,
  failurePolicy: true,
  timeoutMs: true,
});

/** What a definition in code says. It has a schedule and no end: a job that has ended would begin anew at every start. */
export function parseJobDefinition(name: string, definition: JobDefinition, parsing: Parsing): JobFields {
  const { errors } = parsing;
  const about = `definition of job ${JSON.stringify(name)}`;
  if (name.includes('*')) throw errors.invalid('SCHEDULE_JOB', `${about}: expected the name of one job, without *`);
  const problem = fieldsProblem(definition, DEFINITION_FIELDS, about);
  if (problem !== undefined)
    throw errors.malformed(isObject(definition) ? `${problem}; schedule() takes more` : problem);
  // The limit is the function's, not the job's.
  const { timeoutMs: _, ...job } = definition;
  const fields = parseJobOptions({ ...job, ifExists: 'update' }, parsing);
  if (fields.schedule === undefined)
    throw errors.malformed(`${about} has no schedule: schedule() takes a dueTime alone`);
  return fields;
}

const handlerOptionsProblem = validator(
  { type: 'object', additionalProperties: false, properties: { timeoutMs: { type: 'integer', minimum: 0 } } },
  'options',
);

/** How long a function may take for a run; 0 for no limit. @throws SidecarError `ERR_CONFIGURATION` */
export function timeLimitOf(pattern: string, options: JobHandlerOptions): number {
  const problem = handlerOptionsProblem(isObject(options) ? definedOnly(options) : options);
  if (problem === undefined) return options.timeoutMs ?? 0;
  throw new SidecarError('ERR_CONFIGURATION', `handler of jobs ${JSON.stringify(pattern)}: ${problem}`);
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

function checkedFields(given: Fields, wire: Wire, errors: JobErrors): JobFields {
  const { failurePolicy, repeats, ...rest } = given;
  const policy = isObject(failurePolicy) ? pickPolicy(failurePolicy, wire, errors) : failurePolicy;
  const fields = {
    ...rest,
    ...(repeats === undefined ? undefined : { repeats: numberIn(repeats, wire) }),
    ...(policy === undefined ? undefined : { failurePolicy: policy }),
  };
  const problem = validators[wire.name](fields);
  if (problem !== undefined) throw errors.malformed(problem);
  return withIfExists(fields, errors);
}

function withIfExists(checked: Fields, errors: JobErrors): JobFields {
  // The schema has just said so.
  const { overwrite, ...fields } = checked as Omit<JobFields, 'ifExists'> & Pick<JobOptions, 'overwrite' | 'ifExists'>;
  if (overwrite !== undefined && fields.ifExists !== undefined)
    throw errors.malformed('job has both overwrite and ifExists: expected one of them');
  return { ...fields, ifExists: fields.ifExists ?? (overwrite === true ? 'replace' : 'fail') };
}

/** A policy is one of `constant` and `drop`; nothing at all is one only to lenient rules, and then the default. */
function pickPolicy(given: Fields, wire: Wire, errors: JobErrors): unknown {
  const set = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  const known = set.filter(([name]) => name === 'constant' || name === 'drop');
  const counted = wire.jobs.lenientBodies ? known : set;
  const [only] = counted;
  if (only === undefined && wire.jobs.lenientBodies) return undefined;
  if (only === undefined || counted.length > 1 || known.length === 0) {
    const actual = counted.map(([name]) => name).join(' and ') || 'none';
    throw errors.malformed(`job.failurePolicy must have exactly one of constant and drop: actual is ${actual}`);
  }
  const [name, value] = only;
  if (name === 'drop') return isObject(value) ? ({ drop: {} } satisfies PolicyFields) : { drop: value };
  if (!isObject(value)) return { constant: value };
  const { maxRetries, ...constant } = pickFields(value, CONSTANT_FIELDS, 'job.failurePolicy.constant', errors);
  return {
    constant: { ...constant, ...(maxRetries === undefined ? undefined : { maxRetries: numberIn(maxRetries, wire) }) },
  };
}

function numberIn(value: unknown, wire: Wire): unknown {
  return wire.jobs.lenientBodies && typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
}
