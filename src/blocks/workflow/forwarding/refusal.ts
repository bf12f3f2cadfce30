import { isSidecarError, SidecarError } from '../../../errors.ts';
import type { CallOutcome, RefusalCode } from './call.ts';

/** The errors by which an owner refuses a call. */
const CODES: ReadonlySet<string> = new Set<RefusalCode>(['ERR_INSTANCE_ID_NOT_FOUND', 'ERR_START_WORKFLOW']);

/** Converts an error to the outcome of a call; `undefined` when it is not a refusal. */
export function refusalOf(error: unknown): CallOutcome | undefined {
  if (!isSidecarError(error) || !CODES.has(error.code)) return undefined;
  return { is: 'refused', code: error.code as RefusalCode, message: error.message };
}

/** The error of a refused call. */
export function errorOf({ code, message }: Extract<CallOutcome, { is: 'refused' }>): SidecarError {
  return new SidecarError(code, message);
}
