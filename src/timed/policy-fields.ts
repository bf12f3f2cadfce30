import { isJsonObject, type JsonObject } from '../util/json-text.ts';
import type { PolicyFields } from './job.ts';

/** The accepted spellings of fields, the internal one first. */
export type FieldNames = readonly (readonly [name: string, otherSpelling?: string])[];

const CONSTANT_FIELDS: FieldNames = [['maxRetries', 'max_retries'], ['interval']];
/** A number as JSON writes it, the whole of a text. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** How fields are read. */
export interface FieldRules {
  /** Bodies are read like protobuf's JSON: numbers may be text, empty objects count as unset. */
  readonly lenientBodies: boolean;
  /** Makes the error for what is malformed. */
  readonly malformed: (problem: string) => Error;
}

/** The JSON schema of a failure policy in the internal spelling. */
export function policySchema(maxCount: number): object {
  const constant = {
    type: 'object',
    properties: { maxRetries: { type: 'integer', minimum: 0, maximum: maxCount }, interval: { type: 'string' } },
  };
  return { type: 'object', properties: { constant, drop: { type: 'object' } } };
}

/** The known fields of an object in the internal spelling, without those that are `null`. */
export function pickFields(
  from: JsonObject,
  names: FieldNames,
  what: string,
  { malformed }: Pick<FieldRules, 'malformed'>,
): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const [name, other] of names) {
    const isPresent = Object.hasOwn(from, name);
    const isOther = other !== undefined && Object.hasOwn(from, other);
    if (isPresent && isOther) throw malformed(`${what} has both ${name} and ${other}: expected one of them`);
    const value = isPresent ? from[name] : isOther ? from[other] : undefined;
    if (value !== undefined && value !== null) picked[name] = value;
  }
  return picked;
}

/**
 * Reads the failure policy of `what`; its values are for {@link policySchema} to check. A policy has one of `constant` and
 * `drop`. Lenient rules take one without either for the default.
 */
export function pickPolicy(given: JsonObject, what: string, rules: FieldRules): unknown {
  const { lenientBodies, malformed } = rules;
  const set = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  const known = set.filter(([name]) => name === 'constant' || name === 'drop');
  const counted = lenientBodies ? known : set;
  const [only] = counted;
  if (only === undefined && lenientBodies) return undefined;
  if (only === undefined || counted.length > 1 || known.length === 0) {
    const actual = counted.map(([name]) => name).join(' and ') || 'none';
    throw malformed(`${what}.failurePolicy must have exactly one of constant and drop: actual is ${actual}`);
  }
  const [name, value] = only;
  if (name === 'drop') return isJsonObject(value) ? ({ drop: {} } satisfies PolicyFields) : { drop: value };
  if (!isJsonObject(value)) return { constant: value };
  const { maxRetries, ...constant } = pickFields(value, CONSTANT_FIELDS, `${what}.failurePolicy.constant`, rules);
  return {
    constant: { ...constant, ...(maxRetries === undefined ? undefined : { maxRetries: numberIn(maxRetries, rules) }) },
  };
}

/** A number, which lenient rules take as text too. */
export function numberIn(value: unknown, { lenientBodies }: Pick<FieldRules, 'lenientBodies'>): unknown {
  return lenientBodies && typeof value === 'string' && JSON_NUMBER.test(value) ? Number(value) : value;
}
