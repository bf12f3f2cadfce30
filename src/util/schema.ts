import { Ajv, type ErrorObject, type Schema, type ValidateFunction } from 'ajv';

/**
 * The one Ajv of the package. Its messages are made readable here: which field, what it was, what was expected.
 * `isFunction` is ours, for options that JSON Schema has no word for.
 */
const ajv = new Ajv({ allErrors: false, strict: true, allowUnionTypes: true, verbose: true });
ajv.addKeyword({
  keyword: 'isFunction',
  schemaType: 'boolean',
  validate: (_schema: boolean, data: unknown) => typeof data === 'function',
  error: { message: 'must be a function' },
});

/** Checks a value; `undefined` when it fits, else one sentence about the first thing that does not. */
export type Validator = (value: unknown) => string | undefined;

/** Compiles a schema; `what` names the value in messages. */
export function validator(schema: Schema, what: string): Validator {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= ajv.compile(schema);
    return validate(value) ? undefined : describe(validate.errors?.at(-1), what);
  };
}

function describe(error: ErrorObject | undefined, what: string): string {
  if (error === undefined) return `${what} is not valid`;
  const field = what + error.instancePath.replaceAll('/', '.');
  if (error.keyword === 'additionalProperties') {
    return `${field} has the unknown field ${JSON.stringify(error.params['additionalProperty'])}`;
  }
  if (error.keyword === 'required') return `${field}.${error.params['missingProperty']} is missing`;
  return `${field} ${error.message}: actual is ${shown(error.data)}`;
}

function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
