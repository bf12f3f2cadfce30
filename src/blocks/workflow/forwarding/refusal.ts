import { isSidecarError, SidecarError } from '../../../errors.ts';
import type { CallOutcome, RefusalCode } from './call.ts';

/** The errors of operations that another host may decide on. */
const CODES: ReadonlySet<string> = new Set<RefusalCode>(['ERR_INSTANCE_ID_NOT_FOUND', 'ERR_START_WORKFLOW']);

/** An error as the outcome of a call; `undefined` when it says nothing about the call itself. */
export function refusalOf(error: unknown): CallOutcome | undefined {
  if (!isSidecarError(error) || !CODES.has(error.code)) return undefined;
  return { is: 'refused', code: error.code as RefusalCode, message: error.message };
}

/** The error of a call that was refused. */
export function errorOf({ code, message }: Extract<CallOutcome, { is: 'refused' }>): SidecarError {
  return new SidecarError(code, message);
}
