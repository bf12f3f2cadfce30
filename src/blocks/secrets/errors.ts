import { messageOf, SidecarError } from '../../errors.ts';

/** A rule forbids the secret, whether it exists or not. */
export function secretForbidden(store: string, secret: string): SidecarError {
  const message = `access denied by policy to get ${JSON.stringify(secret)} from ${JSON.stringify(store)}`;
  return new SidecarError('ERR_PERMISSION_DENIED', message);
}

export function secretMissing(store: string, secret: string): SidecarError {
  const message = `failed getting secret with key ${secret} from secret store ${store}: there is no such secret`;
  return new SidecarError('ERR_SECRET_GET', message);
}

/** The store failed. `what` says what it was asked for. */
export function secretGetFailed(store: string, what: string, cause: unknown): SidecarError {
  const message = `failed getting ${what} from secret store ${store}: ${messageOf(cause)}`;
  return new SidecarError('ERR_SECRET_GET', message, { cause });
}
