import type { SecretScopeInfo, SecretStoreInfo } from '../../../api/stores.ts';
import { plural } from '../../core/format.ts';
import { Facts } from '../../ui/states.tsx';

/** Which secrets the application may read, in words. */
export function readable(scope: SecretScopeInfo | undefined): string {
  if (scope === undefined) return 'all secrets';
  const { defaultAccess, allowedSecrets, deniedSecrets } = scope;
  if (allowedSecrets.length > 0) return `${plural(allowedSecrets.length, 'secret')} only`;
  if (defaultAccess === 'deny') return 'no secrets';
  return deniedSecrets.length === 0 ? 'all secrets' : `all secrets but ${deniedSecrets.length}`;
}

/** The rule of a secret store: names only. */
export function Scope({ of: { scope } }: { readonly of: SecretStoreInfo }) {
  const { allowedSecrets = [], deniedSecrets = [] } = scope ?? {};
  return (
    <Facts
      items={{
        'May be read': readable(scope),
        'Default access': scope?.defaultAccess ?? 'allow',
        Allowed: allowedSecrets.length === 0 ? undefined : <Names of={allowedSecrets} />,
        Denied: deniedSecrets.length === 0 ? undefined : <Names of={deniedSecrets} />,
      }}
    />
  );
}

function Names({ of }: { readonly of: readonly string[] }) {
  return (
    <>
      {of.map((name, at) => (
        <span key={name}>
          {at === 0 ? '' : ', '}
          <code>{name}</code>
        </span>
      ))}
    </>
  );
}
