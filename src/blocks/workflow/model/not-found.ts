import { SidecarError } from '../../../errors.ts';

/** The error for an instance that does not exist. */
export function notFound(id: string): SidecarError {
  return new SidecarError('ERR_INSTANCE_ID_NOT_FOUND', `unable to find workflow with the provided instance ID: ${id}`);
}
