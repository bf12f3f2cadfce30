/**
 * Runs code of a package that loops over objects with `for…in`, while such loops do not see what other libraries have
 * given to all objects. Nothing else runs meanwhile: it must be synchronous.
 */
export function unextended<T>(run: () => T): T {
  const names = Object.keys(Object.prototype).filter((name) => setEnumerable(name, false));
  try {
    return run();
  } finally {
    for (const name of names) setEnumerable(name, true);
  }
}

/** Whether it could be set: not if the property is fixed. */
function setEnumerable(name: string, enumerable: boolean): boolean {
  // Without a prototype: the field of all objects could be called "get".
  const change = Object.assign(Object.create(null), { enumerable });
  return Reflect.defineProperty(Object.prototype, name, change);
}
