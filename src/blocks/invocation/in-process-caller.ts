import { PlainRequest, type SidecarRequest } from '../../http/message.ts';
import type { NamedCaller } from './own-app.ts';

/**
 * A call of another application. In a sidecar of the same process the object itself tells who sends it, with no need of
 * a signature: nobody outside the process can hand one over.
 */
export class CallOfApp extends PlainRequest {
  caller: NamedCaller | undefined;
}

/** Who sends a request, if that is a sidecar of this process. */
export function vouchedCaller(request: SidecarRequest): NamedCaller | undefined {
  return request instanceof CallOfApp ? request.caller : undefined;
}
