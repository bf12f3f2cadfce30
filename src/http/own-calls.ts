import { randomUUID } from 'node:crypto';
import {
  type Handler,
  type HeaderMap,
  headerOf,
  jsonResponse,
  type SidecarRequest,
  type SidecarResponse,
} from './message.ts';

/** Marks the calls of this process's sidecars to applications in it. Frameworks copy header fields to new requests. */
export const OWN_CALL_HEADER = 'insidecar-call';

/** Of this process, and unguessable. A caller that learns it can only have requests refused. */
const MARK = randomUUID();

/** The fields of a call to an application in this process; they replace what came from outside. */
export function markedAsOwnCall(headers: HeaderMap): HeaderMap {
  return { ...headers, [OWN_CALL_HEADER]: MARK };
}

/**
 * A handler that leaves a sidecar's calls to its application to that application: answered by what is mounted there,
 * everyone who may call the application would reach the whole API.
 */
export function leavingOwnCalls(handle: Handler): Handler {
  return (request) => (isOwnCall(request) ? Promise.resolve(leftToApp(request)) : handle(request));
}

/** A request that came over a connection has been sent by the application, with fields that it has copied. */
function isOwnCall(request: SidecarRequest): boolean {
  const mark = headerOf(request.headers, OWN_CALL_HEADER);
  return mark?.includes(MARK) === true && request.isOverConnection !== true;
}

function leftToApp({ method, path }: SidecarRequest): SidecarResponse {
  const message = `no route for ${method} ${path}: a call of a sidecar to its application (header ${OWN_CALL_HEADER}) is not answered by a sidecar that is mounted there`;
  return { ...jsonResponse(404, { errorCode: 'ERR_NOT_FOUND', message }), unrouted: true };
}
