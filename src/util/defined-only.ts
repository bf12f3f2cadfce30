/** A copy without `undefined` values: an option that is `undefined` counts as not given. */
export function definedOnly<T extends object>(options: T): T {
  // The cast is safe: only optional properties can be `undefined`.
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
