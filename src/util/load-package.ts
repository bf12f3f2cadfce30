import { createRequire } from 'node:module';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';

/** A package that need not be installed. */
export interface OptionalPackage {
  readonly name: string;
  /** The version that is known to work, for the message: `6`, `1.2.1`. Default: none is named. */
  readonly version?: string;
  /** The feature that needs it, as the subject of the message: `State in Redis`. */
  readonly neededBy: string;
}

/**
 * Imports an optional package: from beside this library, else from the working directory, since under `npx` and after a
 * global install nothing can be installed beside it. The name is an argument, so that neither TypeScript nor a bundler
 * resolves it.
 *
 * @param makeError - makes the error to throw when it cannot be imported; the message says what to install
 */
export async function loadPackage<Module>(
  wanted: OptionalPackage,
  makeError: (message: string, cause: unknown) => Error,
): Promise<Module> {
  const { name, neededBy } = wanted;
  let module: Module & { readonly default?: Module };
  try {
    module = (await importFromEither(name)) as typeof module;
  } catch (cause) {
    const message = isMissing(cause, name)
      ? `${neededBy} needs the package ${name}: run "npm install ${installName(wanted)}".`
      : `${neededBy} needs the package ${name}, which cannot be loaded: ${messageOf(cause)}`;
    throw makeError(message, cause);
  }
  return module.default ?? module;
}

/** The name and version for `npm install`. */
export function installName({ name, version }: Pick<OptionalPackage, 'name' | 'version'>): string {
  return version === undefined ? name : `${name}@${version}`;
}

async function importFromEither(name: string): Promise<unknown> {
  try {
    return await import(name);
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    return createRequire(join(process.cwd(), 'package.json'))(name);
  }
}

/** Whether the package itself is missing, and not something that it needs. */
function isMissing(error: unknown, name: string): boolean {
  const { code } = Object(error) as { readonly code?: unknown };
  return /^(?:ERR_)?MODULE_NOT_FOUND$/.test(String(code)) && messageOf(error).includes(`'${name}'`);
}
