/**
 * Imports an optional package. Its name is an argument, so that neither TypeScript nor a bundler resolves it.
 *
 * @param makeError - makes the error to throw when it cannot be imported
 */
export async function loadPackage<Module>(name: string, makeError: (cause: unknown) => Error): Promise<Module> {
  let module: Module & { readonly default?: Module };
  try {
    module = (await import(name)) as typeof module;
  } catch (cause) {
    throw makeError(cause);
  }
  return module.default ?? module;
}
