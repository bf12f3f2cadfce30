import { ANY_TEXT, checkOptions, field, type OptionFields, TEXTS } from '../../util/option-fields.ts';
import type { SecretStore, SecretStoreDefinition, SecretValues } from '../secret-store.ts';

/** Options of {@link environmentSecrets}. @public */
export interface EnvironmentSecretsOptions {
  /** Only variables that begin with it are secrets, named without it. Default: empty, all variables. */
  readonly prefix?: string | undefined;
  /** The variables. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** App IDs that may use the component. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

const FIELDS: OptionFields<EnvironmentSecretsOptions> = {
  prefix: ANY_TEXT,
  environment: { ...field((value) => typeof value === 'object' && value !== null, 'an object'), isSecret: true },
  scopes: TEXTS,
};

/**
 * Secrets in environment variables. `APP_API_TOKEN` and names that begin with `DAPR_` or `SIDECAR_`, in letters of any
 * case, do not exist. A variable that does not exist is an empty secret.
 *
 * Without a `prefix`, the application can read its whole environment: restrict it by the option `secrets.scopes`.
 *
 * @param name - the name used in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @public
 */
export function environmentSecrets(name: string, options: EnvironmentSecretsOptions = {}): SecretStoreDefinition {
  checkOptions(`options of environmentSecrets ${JSON.stringify(name)}`, options, FIELDS);
  const { prefix = '', environment = process.env, scopes } = options;
  return {
    block: 'secrets',
    name,
    type: 'secretstores.local.env',
    version: 'v1',
    ...(scopes === undefined ? {} : { scopes }),
    open: async () => new EnvironmentSecrets(environment, prefix),
  };
}

/** Whether a variable may be read by its name: not those with the sidecar's tokens. */
export function mayReadVariable(name: string): boolean {
  return name !== '' && !/\s/.test(name) && !/^(?:APP_API_TOKEN$|(?:DAPR|SIDECAR)_)/i.test(name);
}

/** Reads a variable, ignoring inherited properties. */
export function readVariable(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined;
}

/** The variables of an environment as secrets. */
export class EnvironmentSecrets implements SecretStore {
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #prefix: string;

  constructor(environment: Readonly<Record<string, string | undefined>>, prefix: string) {
    this.#environment = environment;
    this.#prefix = prefix;
  }

  /** The value of a secret; `undefined` if there is no such variable. */
  find(name: string, key: string = name): string | undefined {
    const variable = this.#prefix + name;
    const isThere = name !== '' && key === name && mayReadVariable(variable);
    return isThere ? readVariable(this.#environment, variable) : undefined;
  }

  async get(name: string): Promise<SecretValues> {
    return Object.fromEntries([[name, this.find(name) ?? '']]);
  }

  async all(): Promise<Readonly<Record<string, SecretValues>>> {
    const found = Object.keys(this.#environment).flatMap((variable) => {
      if (!variable.startsWith(this.#prefix)) return [];
      const name = variable.slice(this.#prefix.length);
      const value = this.find(name);
      return value === undefined ? [] : [[name, Object.fromEntries([[name, value]])] as const];
    });
    return Object.fromEntries(found);
  }

  async close(): Promise<void> {}
}
