import { SidecarError } from '../errors.ts';
import { checkFields, fieldNames, nameOfKind } from '../util/known-fields.ts';
import type { ConfigurationItem } from './configuration-store.ts';

const FIELDS = fieldNames<ConfigurationItem>({ value: true, version: true, metadata: true });

/**
 * Reads items: an object of texts, or of objects with `value`, `version` and `metadata`. `what` names it.
 *
 * @throws SidecarError `ERR_CONFIGURATION`, without values.
 */
export function parseItems(given: unknown, what: string): ReadonlyMap<string, ConfigurationItem> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong(what, given, 'an object of keys and their values');
  return new Map(
    Object.entries(given).map(([key, item]) => [key, parseItem(item, `${JSON.stringify(key)} in ${what}`)]),
  );
}

/**
 * Reads an item: a text, or an object with `value`, `version` and `metadata`.
 *
 * @throws SidecarError `ERR_CONFIGURATION`, without values.
 */
export function parseItem(given: unknown, what: string): ConfigurationItem {
  if (typeof given === 'string') return { value: given };
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong(what, given, 'a text, or an object with value, version and metadata');
  checkFields(given, FIELDS, what, 'ERR_CONFIGURATION');
  const { value, version, metadata } = given as { readonly [Name in keyof ConfigurationItem]?: unknown };
  return {
    value: textOf(value, `value of ${what}`),
    ...(version === undefined ? {} : { version: textOf(version, `version of ${what}`) }),
    ...(metadata === undefined ? {} : { metadata: textsOf(metadata, `metadata of ${what}`) }),
  };
}

function textOf(given: unknown, what: string): string {
  if (typeof given === 'string') return given;
  throw wrong(what, given, 'a text');
}

function textsOf(given: unknown, what: string): Readonly<Record<string, string>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong(what, given, 'an object of texts');
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => [name, textOf(text, `${JSON.stringify(name)} in ${what}`)]),
  );
}

function wrong(what: string, given: unknown, expected: string): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', `${what} is ${nameOfKind(given)}: expected ${expected}`);
}
