import { SidecarError } from '../../errors.ts';

/** The caller is not allowed to do this. */
export function forbidden(message: string): SidecarError {
  return new SidecarError('ERR_UNAUTHORIZED', message, { status: 403 });
}

/** It is not known who the caller is. */
export function unauthorized(message: string): SidecarError {
  return new SidecarError('ERR_UNAUTHORIZED', message);
}
