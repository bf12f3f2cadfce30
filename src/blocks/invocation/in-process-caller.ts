import { randomUUID } from 'node:crypto';
import { PlainRequest, type SidecarRequest } from '../../http/message.ts';
import type { NamedCaller } from './own-app.ts';

/**
 * A call to another application. A sidecar of the same process recognises the sender by this object, without a
 * signature: callers outside the process cannot pass one.
 */
export class CallOfApp extends PlainRequest {
  caller: NamedCaller | undefined;
}

/** The sender of a request, if it is a sidecar of this process. */
export function vouchedCaller(request: SidecarRequest): NamedCaller | undefined {
  return request instanceof CallOfApp ? request.caller : undefined;
}

/** Calls of this process to sidecars at an address, by the mark that each carries. */
const underWay = new Map<string, { readonly caller: NamedCaller; readonly callee: NamedCaller }>();

/** The mark of a call at an address. */
export class CallMark {
  /** Not from `newId`: it must be unguessable. */
  readonly value: string = randomUUID();

  constructor(caller: NamedCaller, callee: NamedCaller) {
    underWay.set(this.value, { caller, callee });
  }

  /** The call has ended. */
  end(): void {
    underWay.delete(this.value);
  }
}

/**
 * The sender of a call with a mark, if it is a sidecar of this process that calls this application. Another application
 * that gets a call sees its mark, and cannot use it here. The application gets the name of the sender; access
 * control does not rely on it.
 */
export function senderOf(mark: unknown, { appId, namespace }: NamedCaller): NamedCaller | undefined {
  const call = typeof mark === 'string' ? underWay.get(mark) : undefined;
  return call?.callee.appId === appId && call.callee.namespace === namespace ? call.caller : undefined;
}
