import { type ErrorCode, SidecarError } from '../errors.ts';
import { didYouMean } from './suggest.ts';

/** The names of the fields of options; the compiler sees to it that none is left out. */
export function fieldNames<T extends object>(names: { readonly [Name in keyof T]-?: true }): ReadonlySet<string> {
  return new Set(Object.keys(names));
}

/** What is wrong with the form of options: no object, or a field that there is not. `what` names them. */
export function fieldsProblem(given: unknown, known: ReadonlySet<string>, what: string): string | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return `${what}: expected an object, actual is ${Array.isArray(given) ? 'an array' : String(given)}`;
  for (const name in given) {
    if (!known.has(name) && given[name as keyof typeof given] !== undefined) return unknownField(name, known, what);
  }
  return undefined;
}

/**
 * Refuses options that have a field which there is not: what is misspelt would else be without effect.
 *
 * @throws SidecarError of the code, naming the field and those that there are.
 */
export function checkFields(
  given: unknown,
  known: ReadonlySet<string>,
  what: string,
  code: ErrorCode = 'ERR_BAD_REQUEST',
): void {
  const problem = fieldsProblem(given, known, what);
  if (problem !== undefined) throw new SidecarError(code, problem);
}

/**
 * Refuses code that is none: it would fail with every call of it.
 *
 * @throws SidecarError `ERR_CONFIGURATION`.
 */
export function checkFunction(given: unknown, what: string): void {
  if (typeof given !== 'function')
    throw new SidecarError('ERR_CONFIGURATION', `${what} is ${nounOf(given)}: expected a function`);
}

function nounOf(given: unknown): string {
  if (given === undefined || given === null) return String(given);
  return Array.isArray(given) ? 'an array' : typeof given === 'object' ? 'an object' : `a ${typeof given}`;
}

/** Names a field that there is not, those that there are, and the one that was probably meant. */
export function unknownField(name: string, known: Iterable<string>, what: string): string {
  const expected = [...known];
  const list = expected.length === 0 ? '' : `: expected ${expected.join(', ')}`;
  return `${what}: unknown field ${JSON.stringify(name)}${list}${didYouMean(name, expected)}`;
}
