import { messageOf, SidecarError } from '../../errors.ts';

/** A request that cannot be understood. */
export function malformedLock(problem: string, cause?: unknown): SidecarError {
  return new SidecarError('ERR_MALFORMED_REQUEST', `failed deserializing the request: ${problem}`, { cause });
}

/** The store failed: the lock may have been taken, or not. */
export function tryLockFailed(store: string, resource: string, cause: unknown): SidecarError {
  const message = `failed to try to lock ${resource} in lock store ${store}: ${messageOf(cause)}`;
  return new SidecarError('ERR_TRY_LOCK', message, { cause });
}

/** The store failed: the lock may have been released, or not. */
export function unlockFailed(store: string, resource: string, cause: unknown): SidecarError {
  const message = `failed to unlock ${resource} in lock store ${store}: ${messageOf(cause)}`;
  return new SidecarError('ERR_UNLOCK', message, { cause });
}
