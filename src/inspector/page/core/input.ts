/**
 * Text that somebody typed as JSON; `undefined` for nothing.
 *
 * @throws Error that says what is wrong with it, for people.
 */
export function jsonOf(text: string | undefined, what: string): string | undefined {
  const trimmed = text?.trim() || undefined;
  try {
    if (trimmed !== undefined) JSON.parse(trimmed);
  } catch (error) {
    throw new Error(`${what} is no JSON: ${(error as Error).message}`);
  }
  return trimmed;
}

type Given<T> = { readonly [Name in keyof T]?: Exclude<T[Name], undefined> };

/** The values that somebody typed, without those that are `undefined` or nothing but spaces. */
export function given<T extends Readonly<Record<string, unknown>>>(values: T): Given<T> {
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.trim() : value,
  ]);
  return filled(Object.fromEntries(entries) as T);
}

/** The values without those that are `undefined` or empty; the others as they are, as a list is filtered by them. */
export function filled<T extends Readonly<Record<string, unknown>>>(values: T): Given<T> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(entries) as Given<T>;
}
