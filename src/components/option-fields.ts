import { SidecarError } from '../errors.ts';
import { checkFields, nameOfKind } from '../util/known-fields.ts';
import { shown } from '../util/shown.ts';
import type { TopicScopes } from './pubsub.ts';

/** What a field of options may be. */
export interface OptionField {
  /** What was expected; `undefined` if the value is right. */
  readonly expected: (value: unknown) => string | undefined;
  readonly isRequired?: boolean;
  /** Whether errors leave the value out. */
  readonly isSecret?: boolean;
}

/** All fields of an options type; the compiler checks that none is missing. */
export type OptionFields<T extends object> = { readonly [Name in keyof T]-?: OptionField };

/** Makes the error for a wrong field. */
export type WrongOption<T extends object> = (name: keyof T & string, expected: string) => SidecarError;

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
/** What the technology's own file checks. */
export const ANYTHING: OptionField = field(() => true, '');
/** A count that `Infinity` does not limit. */
export const LIMIT: OptionField = field(
  (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && Number(value) >= 1),
  'a whole number of 1 or more, or Infinity',
);
export const TEXTS: OptionField = field(isTexts, 'a list of texts');
const TEXTS_BY_APP = field(
  (value) => nameOfKind(value) === 'an object' && Object.values(Object(value)).every(isTexts),
  'an object with a list of texts for each app ID',
);

/** What decides who may use a component, and for which topics. */
interface Access extends TopicScopes {
  readonly scopes?: readonly string[];
}

/** The fields that all pub/sub components have. A wrong one would leave topics open that should be closed. */
export const ACCESS_FIELDS: OptionFields<Access> = {
  scopes: TEXTS,
  publishingScopes: TEXTS_BY_APP,
  subscriptionScopes: TEXTS_BY_APP,
  allowedTopics: TEXTS,
  protectedTopics: TEXTS,
};

/**
 * Checks options, or an object in them, which `what` names. Returns what makes errors for further checks.
 *
 * @throws SidecarError `ERR_CONFIGURATION`, naming the options, the field and, unless it is secret, the value.
 */
export function checkOptions<T extends object>(what: string, options: T, fields: OptionFields<T>): WrongOption<T> {
  checkFields(options, new Set(Object.keys(fields)), what, 'ERR_CONFIGURATION');
  const wrong: WrongOption<T> = (name, expected) => {
    const value = fields[name].isSecret ? '' : ` ${shown(options[name])}`;
    return new SidecarError('ERR_CONFIGURATION', `${name}${value} in ${what}: expected ${expected}`);
  };
  for (const name of Object.keys(fields) as (keyof T & string)[]) {
    const value = options[name];
    if (value === undefined && !fields[name].isRequired) continue;
    const expected = fields[name].expected(value);
    if (expected !== undefined) throw wrong(name, expected);
  }
  return wrong;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}
