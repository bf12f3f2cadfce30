import type { SidecarRequest } from '../../http/message.ts';
import type { NamedCaller } from './own-app.ts';

/**
 * Who sends a request to another sidecar of the same process. Known by the request object, which nobody outside the
 * process can hand over, so it needs no signature; it goes with the request.
 */
const callers = new WeakMap<SidecarRequest, NamedCaller>();

/** Notes who sends it. */
export function vouchFor(request: SidecarRequest, caller: NamedCaller): void {
  callers.set(request, caller);
}

/** Who sends it, if that is a sidecar of this process. */
export function vouchedCaller(request: SidecarRequest): NamedCaller | undefined {
  return callers.get(request);
}
