/** A copy without what is `undefined`: what is given and undefined is not given. */
export function definedOnly<T extends object>(options: T): T {
  // What is left out is optional, or it could not be undefined.
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
