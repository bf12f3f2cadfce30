import { SidecarError } from '../../errors.ts';
import { shown } from '../../util/shown.ts';
import type { SecretScope, SecretsOptions } from './options.ts';

/** Whether a secret may be read. */
type Rule = (secret: string) => boolean;

/** Which secrets the application may read. */
export class SecretScopes {
  readonly #rules = new Map<string, Rule>();

  /** @throws SidecarError `ERR_CONFIGURATION` for two rules for one store, or another word as `defaultAccess`. */
  constructor({ scopes = [] }: SecretsOptions) {
    for (const [index, scope] of scopes.entries()) {
      const at = `options.secrets.scopes.${index}`;
      if (this.#rules.has(scope.storeName)) {
        const message = `${at}.storeName ${shown(scope.storeName)} has a rule already: expected one for each store`;
        throw new SidecarError('ERR_CONFIGURATION', message);
      }
      this.#rules.set(scope.storeName, ruleOf(scope, at));
    }
  }

  /** The names of the stores with a rule. */
  get stores(): readonly string[] {
    return [...this.#rules.keys()];
  }

  /** Whether the application may read a secret, whether it exists or not. */
  allows(store: string, secret: string): boolean {
    return this.#rules.get(store)?.(secret) ?? true;
  }
}

function ruleOf({ defaultAccess = '', allowedSecrets = [], deniedSecrets = [] }: SecretScope, at: string): Rule {
  const access = defaultAccess.toLowerCase() || 'allow';
  if (access !== 'allow' && access !== 'deny') {
    const message = `${at}.defaultAccess is ${shown(defaultAccess)}: expected allow or deny`;
    throw new SidecarError('ERR_CONFIGURATION', message);
  }
  const [allowed, denied] = [new Set(allowedSecrets), new Set(deniedSecrets)];
  if (allowed.size > 0) return (secret) => allowed.has(secret);
  return (secret) => !denied.has(secret) && access === 'allow';
}
