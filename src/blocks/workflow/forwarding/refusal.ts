import { isApiError, SidecarError } from '../../../errors.ts';
import type { InstanceWork } from '../operations/work.ts';
import type { CallOutcome, RefusalCode } from './call.ts';

/**
 * Converts the error of a call to its outcome; `undefined` when it is not a refusal. An event that was to be stored
 * with a start fails as that start does: another instance may have the ID, and is the one that was meant.
 */
export function refusalOf(error: unknown, { type }: Pick<InstanceWork, 'type'>): CallOutcome | undefined {
  const code: RefusalCode = type === 'start' ? 'ERR_START_WORKFLOW' : 'ERR_INSTANCE_ID_NOT_FOUND';
  if (!isApiError(error) || error.code !== code) return undefined;
  return { is: 'refused', code, message: error.message };
}

/** The error of a refused call. */
export function errorOf({ code, message }: Extract<CallOutcome, { is: 'refused' }>): SidecarError {
  return new SidecarError(code, message);
}
