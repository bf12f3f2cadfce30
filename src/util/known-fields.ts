import { type ErrorCode, SidecarError } from '../errors.ts';
import { didYouMean } from './suggest.ts';

/** The field names of an options type; the compiler checks that none is missing. */
export function fieldNames<T extends object>(names: { readonly [Name in keyof T]-?: true }): ReadonlySet<string> {
  return new Set(Object.keys(names));
}

/**
 * Rejects options with an unknown field, which would otherwise be silently ignored.
 *
 * @throws SidecarError with the given code, naming the unknown and the known fields.
 */
export function checkFields(
  given: unknown,
  known: ReadonlySet<string>,
  what: string,
  code: ErrorCode = 'ERR_INVALID_ARGUMENT',
): void {
  const problem = fieldsProblem(given, known, what);
  if (problem === undefined) return;
  const { message, argument } = problem;
  throw new SidecarError(code, message, { argument });
}

/** A problem of options in words, and the path of what is wrong. */
export interface FieldsProblem {
  readonly message: string;
  readonly argument: string;
}

/** Describes what is wrong with the shape of options: not an object, or an unknown field. `what` names the options. */
export function fieldsProblem(given: unknown, known: ReadonlySet<string>, what: string): FieldsProblem | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return { message: `${what}: expected an object, actual is ${nameOfKind(given)}`, argument: 'options' };
  for (const name of Object.keys(given)) {
    if (!known.has(name) && given[name as keyof typeof given] !== undefined)
      return { message: unknownField(name, known, what), argument: `options.${name}` };
  }
  return undefined;
}

/**
 * Rejects a value that is not a function, which would fail on every call.
 *
 * @param argument - its path
 * @throws SidecarError `ERR_INVALID_ARGUMENT`.
 */
export function checkFunction(given: unknown, what: string, argument: string): void {
  if (typeof given !== 'function')
    throw new SidecarError('ERR_INVALID_ARGUMENT', `${what} is ${nameOfKind(given)}: expected a function`, {
      argument,
    });
}

export function nameOfKind(given: unknown): string {
  if (given === undefined || given === null) return String(given);
  return Array.isArray(given) ? 'an array' : typeof given === 'object' ? 'an object' : `a ${typeof given}`;
}

/** A message that names the unknown field, the known fields, and the one that was probably meant. */
export function unknownField(name: string, known: Iterable<string>, what: string): string {
  const expected = [...known];
  const list = expected.length === 0 ? '' : `: expected ${expected.join(', ')}`;
  return `${what}: unknown field ${JSON.stringify(name)}${list}${didYouMean(name, expected)}`;
}
