import { PlainRequest, type SidecarRequest } from '../../http/message.ts';
import type { NamedCaller } from './own-app.ts';

/**
 * A call to another application. A sidecar of the same process recognises the sender by this object, without a
 * signature: nobody outside the process can pass one.
 */
export class CallOfApp extends PlainRequest {
  caller: NamedCaller | undefined;
}

/** The sender of a request, if it is a sidecar of this process. */
export function vouchedCaller(request: SidecarRequest): NamedCaller | undefined {
  return request instanceof CallOfApp ? request.caller : undefined;
}
