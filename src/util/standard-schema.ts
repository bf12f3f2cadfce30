import { SidecarError } from '../errors.ts';
import { joinedPath } from './json-value.ts';
import { nameOfKind } from './known-fields.ts';

/** A problem that a schema found. @public */
export interface SchemaIssue {
  /** The problem. */
  readonly message: string;
  /** The keys that lead to the value, from the outside in. Absent for the value itself. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a schema makes of a value: another value, or a list of problems. @public */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/**
 * A schema of any library that implements [Standard Schema](https://standardschema.dev) 1, such as Zod, Valibot and
 * ArkType. `Input` is the type of the values that it takes, `Output` that of the values that it makes of them.
 *
 * @public
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** What the standard asks of a schema. */
  readonly '~standard': {
    /** The version of the standard. */
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    /** Checks a value. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** For the compiler only. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The most problems that an error lists. */
const MAX_ISSUES = 5;

/**
 * The value that a schema makes of another one; a promise if the schema is asynchronous. Without a schema, the value
 * itself.
 *
 * @throws What `refuse` makes of the problems, which follow the name of the value: `does not fit the schema: …`.
 */
export function parseWith<Output>(
  schema: StandardSchema<unknown, Output> | undefined,
  value: unknown,
  refuse: (problem: string) => Error,
): Output | Promise<Output> {
  // Without a schema, only the types say what the value is.
  if (schema === undefined) return value as Output;
  const outputOf = (result: SchemaResult<Output>): Output => {
    if (result.issues === undefined) return result.value;
    throw refuse(`does not fit the schema: ${listed(result.issues)}`);
  };
  const result = schema['~standard'].validate(value);
  return isPromise(result) ? result.then(outputOf) : outputOf(result);
}

/** Whether a schema has answered with a promise. It may be of another realm. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** @throws SidecarError `ERR_INVALID_ARGUMENT` for an option that is not a schema; `undefined` is fine. */
export function checkSchema(schema: unknown, option: string, what: string): void {
  if (schema === undefined) return;
  const standard = Object(schema)['~standard'] as { readonly validate?: unknown } | undefined;
  if (typeof standard?.validate === 'function') return;
  throw new SidecarError(
    'ERR_INVALID_ARGUMENT',
    `${option} in ${what} is ${nameOfKind(schema)}: expected a schema of a library with Standard Schema, such as zod 3.24, valibot 1 or arktype 2`,
    { argument: `options.${option}` },
  );
}

/** The error for a value in code that does not fit its schema. */
export function invalidData(message: string): SidecarError {
  return new SidecarError('ERR_INVALID_DATA', message);
}

function listed(issues: readonly SchemaIssue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => {
    const keys = path.map((part) => (typeof part === 'object' ? part.key : part));
    const place = keys.reduceRight<string>(
      (rest, key) => joinedPath(typeof key === 'symbol' ? String(key) : key, rest),
      '',
    );
    return place === '' ? message : `${place}: ${message}`;
  });
  const more = issues.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}
