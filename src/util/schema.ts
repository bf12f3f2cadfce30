import { createRequire } from 'node:module';
import type { ErrorObject, Schema, ValidateFunction } from 'ajv';
import { isDurationWithin } from './duration.ts';
import { fastValidator } from './fast-validate.ts';
import { unknownField } from './known-fields.ts';
import { shown } from './shown.ts';
import { unextended } from './unextended.ts';

const require = createRequire(import.meta.url);

/** Validates a value; `undefined` if it is valid, else one sentence about the first problem. */
export type Validator = (value: unknown) => string | undefined;

/**
 * Compiles a schema; `what` names the value in messages. Messages never show any part of a `secret` value. Beside JSON
 * Schema's keywords, `isFunction` and `isDuration` are supported, and `expects`, the words for what a value must be.
 */
export function validator(
  schema: Schema,
  what: string,
  { secret = false }: { readonly secret?: boolean } = {},
): Validator {
  let fits: ((value: unknown) => boolean) | undefined;
  let validate: ValidateFunction | undefined;
  return (value) => {
    fits ??= fastValidator(schema);
    if (fits(value)) return undefined;
    // Ajv, and the code that it makes, would take a field of all objects for an unknown one of the value.
    const isValid = unextended(() => {
      validate ??= compile(schema);
      return validate(value);
    });
    return isValid ? undefined : describe(validate?.errors?.at(-1), what, secret);
  };
}

/** Turns an error into a readable message: the field, its value, what was expected. */
function compile(schema: Schema): ValidateFunction {
  // Loaded by the first value that the fast validator does not accept: most sidecars have none, and Ajv is large.
  const { Ajv } = require('ajv') as typeof import('ajv');
  const ajv = new Ajv({
    allErrors: false,
    strict: true,
    allowUnionTypes: true,
    verbose: true,
    // The schemas are our own and compiled once: checking them against the meta-schema and optimising their code would
    // take longer than all validation.
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  });
  ajv.addVocabulary(['expects']);
  ajv.addKeyword({
    keyword: 'isFunction',
    schemaType: 'boolean',
    validate: (_schema: boolean, data: unknown) => typeof data === 'function',
    error: { message: 'must be a function' },
  });
  ajv.addKeyword({
    keyword: 'isDuration',
    schemaType: 'array',
    validate: ([minMs, maxMs]: [number, number], data: unknown) => isDurationWithin(data, minMs, maxMs),
  });
  return ajv.compile(schema);
}

function describe(error: ErrorObject | undefined, what: string, secret: boolean): string {
  if (error === undefined) return `${what} is not valid`;
  const field = what + error.instancePath.replaceAll('/', '.');
  if (error.keyword === 'additionalProperties') {
    const known = Object.keys(error.parentSchema?.['properties'] ?? {});
    return unknownField(String(error.params['additionalProperty']), known, field);
  }
  if (error.keyword === 'required') {
    const missing = String(error.params['missingProperty']);
    return `${field}.${missing} is missing${inOtherCase(missing, error.data)}`;
  }
  const must = mustOf(error);
  return secret ? `${field} ${must}` : `${field} ${must}: actual is ${shown(error.data)}`;
}

/** A hint at a key that is the missing one but for its case, if there is one. */
function inOtherCase(missing: string, data: unknown): string {
  const key = Object.keys(Object(data)).find((one) => one !== missing && one.toLowerCase() === missing.toLowerCase());
  return key === undefined ? '' : `: it has ${JSON.stringify(key)}; did you mean ${JSON.stringify(missing)}?`;
}

function mustOf({ keyword, params, parentSchema, message }: ErrorObject): string | undefined {
  const expected: unknown = parentSchema?.['expects'];
  // About the names of fields, not about the value.
  if (expected !== undefined && keyword !== 'propertyNames') return `must be ${expected}`;
  if (keyword === 'enum') return oneOf(params['allowedValues']);
  // `null` stands for a value that is not given: the message need not offer it.
  if (keyword === 'type')
    return `must be ${[params['type']]
      .flat()
      .filter((type) => type !== 'null')
      .join(' or ')}`;
  return message;
}

function oneOf(values: readonly unknown[]): string {
  return `must be ${values.map(shown).join(' or ')}`;
}
