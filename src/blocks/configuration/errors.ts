import { messageOf, SidecarError } from '../../errors.ts';

/** The store could not be read. */
export function configurationGetFailed(store: string, keys: readonly string[], cause: unknown): SidecarError {
  const what = keys.length === 0 ? 'all keys' : keys.join(', ');
  const message = `failed to get ${what} from configuration store ${store}: ${messageOf(cause)}`;
  return new SidecarError('ERR_CONFIGURATION_GET', message, { cause });
}

/** The changes of a store could not be subscribed to. */
export function configurationSubscribeFailed(store: string, cause: unknown): SidecarError {
  const message = `failed to subscribe to configuration store ${store}: ${messageOf(cause)}`;
  return new SidecarError('ERR_CONFIGURATION_SUBSCRIBE', message, { cause });
}

/** There is no application that changes could be sent to. */
export function noAppForChanges(): SidecarError {
  const message = 'there is no application to tell changes to: set the option app (--app-port of the command)';
  return new SidecarError('ERR_APP_CHANNEL_NIL', message);
}
