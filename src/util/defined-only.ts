/** Options of which those that are given have a value. */
export type Defined<T> = { [Name in keyof T]: Exclude<T[Name], undefined> };

/** Options with their defaults: each has a value. */
export type Complete<T> = Required<Defined<T>>;

/** A copy without `undefined` values: an option that is `undefined` counts as not given. */
export function definedOnly<T extends object>(options: T): Defined<T> {
  // The cast is safe: only optional properties can be `undefined`.
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** The members of an object that are there. */
export type Present<T> = {
  readonly [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name];
} & { readonly [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined> };

/** As {@link definedOnly}, for an object whose members may be `undefined` where options may only be absent. */
export function present<T extends object>(members: T): Present<T> {
  // The cast is safe: what is left has a value.
  return definedOnly(members) as unknown as Present<T>;
}
