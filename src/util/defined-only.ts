/** Options of which those that are given have a value. */
export type Defined<T> = { [Name in keyof T]: Exclude<T[Name], undefined> };

/** Options with their defaults: each has a value. */
export type Complete<T> = Required<Defined<T>>;

/** A copy without `undefined` values: an option that is `undefined` counts as not given. */
export function definedOnly<T extends object>(options: T): Defined<T> {
  // The cast is safe: only optional properties can be `undefined`.
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Defined<T>;
}
