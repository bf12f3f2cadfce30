import type { ErrorCode, SidecarError } from '../errors.ts';

/** The code of an error over HTTP, whose contract has no codes for mistakes in code. */
export function codeOnWire({ code, wireCode }: SidecarError): ErrorCode {
  if (wireCode !== undefined) return wireCode;
  if (code === 'ERR_INVALID_ARGUMENT') return 'ERR_BAD_REQUEST';
  return code === 'ERR_NOT_STARTED' ? 'ERR_HEALTH_NOT_READY' : code;
}
