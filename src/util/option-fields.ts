import { SidecarError } from '../errors.ts';
import { INSTANT_FORMS, readInstant } from './duration.ts';
import { fieldsProblem, nameOfKind } from './known-fields.ts';
import { shown } from './shown.ts';

/** The values that a field of options may have. */
export interface OptionField {
  /** The expected value; `undefined` if the value is right. */
  readonly expected: (value: unknown) => string | undefined;
  readonly isRequired?: boolean;
  /** Whether errors leave the value out. */
  readonly isSecret?: boolean;
}

/** All fields of an options type; the compiler checks that none is missing. */
export type OptionFields<T extends object> = { readonly [Name in keyof T]-?: OptionField };

/** Makes the error for wrong options of its message, and of the path of what is wrong. */
export type OptionError = (message: string, argument?: string) => Error;

/** Makes the error for a wrong field. */
export type WrongOption<T extends object> = (name: keyof T & string, expected: string) => Error;

/** A field whose values pass a test. */
export function field(isRight: (value: unknown) => boolean, expected: string): OptionField {
  return { expected: (value) => (isRight(value) ? undefined : expected) };
}

/** A whole number. */
export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): OptionField {
  const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
  return field(
    (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
    `a whole number ${range}`,
  );
}

/** One of the texts. */
export function choice(...choices: readonly string[]): OptionField {
  return field((value) => choices.some((one) => one === value), `one of ${choices.join(', ')}`);
}

/** A text that is not empty. */
export function text(expected: string): OptionField {
  return field((value) => typeof value === 'string' && value !== '', expected);
}

export function secret(of: OptionField): OptionField {
  return { ...of, isSecret: true };
}

export function required(of: OptionField): OptionField {
  return { ...of, isRequired: true };
}

export const BOOLEAN: OptionField = field((value) => typeof value === 'boolean', 'true or false');
export const TEXT: OptionField = text('a text that is not empty');
export const ANY_TEXT: OptionField = field((value) => typeof value === 'string', 'a text');
export const FUNCTION: OptionField = field((value) => typeof value === 'function', 'a function');
export const WELL_FORMED: OptionField = field(
  (value) => typeof value === 'string' && value.isWellFormed(),
  'well-formed text',
);
export const INSTANT: OptionField = field((value) => readInstant(value) !== undefined, INSTANT_FORMS);
/** An `AbortSignal`, of this or any other library. */
export const SIGNAL: OptionField = field((value) => typeof Object(value).aborted === 'boolean', 'an AbortSignal');
/** A value that is checked elsewhere, or may be anything. */
export const ANYTHING: OptionField = field(() => true, '');
/** A count that `Infinity` does not limit. */
export const LIMIT: OptionField = field(
  (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && Number(value) >= 1),
  'a whole number of 1 or more, or Infinity',
);
/** Text by name, such as metadata. */
export const TEXT_BY_NAME: OptionField = field(
  (value) => nameOfKind(value) === 'an object' && Object.values(Object(value)).every((one) => typeof one === 'string'),
  'an object of texts',
);
export const TEXTS: OptionField = field(isTexts, 'a list of texts');
export const TEXTS_BY_APP: OptionField = field(
  (value) => nameOfKind(value) === 'an object' && Object.values(Object(value)).every(isTexts),
  'an object with a list of texts for each app ID',
);

/**
 * Checks options, or an object in them, which `what` names. Returns what makes errors for further checks. Not for each
 * message, call or replayed action: it takes about 1 µs, where `checkFields` takes 80 ns.
 *
 * @throws what `error` makes of the problem, by default a SidecarError `ERR_CONFIGURATION`. Its message names the options, the field
 * and, unless it is secret, the value.
 */
export function checkOptions<T extends object>(
  what: string,
  options: T,
  fields: OptionFields<T>,
  error: OptionError = invalidConfiguration,
): WrongOption<T> {
  // Plain JavaScript may give anything.
  const problem = fieldsProblem(options, new Set(Object.keys(fields)), what);
  if (problem !== undefined) throw error(problem.message, problem.argument);
  const wrong: WrongOption<T> = (name, expected) => {
    const value = fields[name].isSecret ? '' : ` is ${shown(options[name])}`;
    return error(`${name} in ${what}${value}: expected ${expected}`, `options.${name}`);
  };
  for (const name of Object.keys(fields) as (keyof T & string)[]) {
    const value = options[name];
    if (value === undefined && !fields[name].isRequired) continue;
    const expected = fields[name].expected(value);
    if (expected !== undefined) throw wrong(name, expected);
  }
  return wrong;
}

/** For options of a call. */
export function invalidArgument(message: string, argument?: string): SidecarError {
  return new SidecarError('ERR_INVALID_ARGUMENT', message, { argument });
}

/** For an argument of another name than `options`. */
export function invalidIn(name: string): OptionError {
  return (message, argument = name) => invalidArgument(message, argument.replace(/^options\b/, name));
}

/** For options of what is configured. */
export function invalidConfiguration(message: string, argument?: string): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', message, { argument });
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
