import { SidecarError } from '../../errors.ts';
import { shown } from '../../util/shown.ts';
import type { SecretScope, SecretsOptions } from './options.ts';

/** The rule about the secrets of a store. */
export interface CheckedScope {
  /** Whether secrets may be read that neither list names. */
  readonly defaultAccess: 'allow' | 'deny';
  /** If not empty: these may be read, and no others. */
  readonly allowed: ReadonlySet<string>;
  readonly denied: ReadonlySet<string>;
}

/** Which secrets the application may read. */
export class SecretScopes {
  readonly #scopes = new Map<string, CheckedScope>();

  /** @throws SidecarError `ERR_CONFIGURATION` for two rules for one store, or another word as `defaultAccess`. */
  constructor({ scopes = [] }: SecretsOptions) {
    for (const [index, scope] of scopes.entries()) {
      const at = `options.secrets.scopes.${index}`;
      if (this.#scopes.has(scope.storeName)) {
        const message = `${at}.storeName ${shown(scope.storeName)} has a rule already: expected one for each store`;
        throw new SidecarError('ERR_CONFIGURATION', message);
      }
      this.#scopes.set(scope.storeName, checkedScope(scope, at));
    }
  }

  /** The names of the stores with a rule. */
  get stores(): readonly string[] {
    return [...this.#scopes.keys()];
  }

  /** The rule of a store; `undefined` if all its secrets may be read. */
  of(store: string): CheckedScope | undefined {
    return this.#scopes.get(store);
  }

  /** Whether the application may read a secret, whether it exists or not. */
  allows(store: string, secret: string): boolean {
    const scope = this.#scopes.get(store);
    if (scope === undefined) return true;
    if (scope.allowed.size > 0) return scope.allowed.has(secret);
    return !scope.denied.has(secret) && scope.defaultAccess === 'allow';
  }
}

function checkedScope(
  { defaultAccess = '', allowedSecrets = [], deniedSecrets = [] }: SecretScope,
  at: string,
): CheckedScope {
  const access = defaultAccess.toLowerCase() || 'allow';
  if (access !== 'allow' && access !== 'deny') {
    const message = `${at}.defaultAccess is ${shown(defaultAccess)}: expected allow or deny`;
    throw new SidecarError('ERR_CONFIGURATION', message);
  }
  return { defaultAccess: access, allowed: new Set(allowedSecrets), denied: new Set(deniedSecrets) };
}
