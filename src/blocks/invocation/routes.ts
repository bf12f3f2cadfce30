import type { SidecarRequest } from '../../http/message.ts';
import { type Match, type Route, route } from '../../http/router.ts';
import type { Wire } from '../../wire.ts';
import { addressOfHeaders, addressOfPath, type CallAddress, decodedTarget, isRoot } from './address.ts';
import type { Peers } from './inbound-calls.ts';

const PATTERN = '/v1.0/invoke/**call';
const ANY_PATH = '/**path';

export function invocationRoutes(peers: Peers): Route[] {
  return [
    route('invoke', ['*'], PATTERN, (request, { call }) => peers.answer(request, addressOfPath(call)), {
      identifies: (request) => peers.identifies(request),
    }),
  ];
}

/** The only route for other sidecars; the root of the application is reached by {@link peerFallback}. */
export function peerRoutes(peers: Peers): Route[] {
  return [
    route('invoke', ['*'], PATTERN, (request, { call }) => peers.answerPeer(request, addressOfPath(call)), {
      identifies: (request) => peers.identifies(request),
    }),
  ];
}

/** Finds the target in header fields, for paths without a route. */
export function invocationFallback(peers: Peers, wire: Wire): (request: SidecarRequest) => Match | undefined {
  return (request) => {
    const address = addressed(peers, wire, request);
    return address && { route: callOf(peers, address), params: {} };
  };
}

/** Finds the target of a call of another sidecar to the root of the application, which has no method name. */
export function peerFallback(peers: Peers, wire: Wire): (request: SidecarRequest) => Match | undefined {
  return (request) => {
    const address = isRoot(request.path) ? addressed(peers, wire, request) : undefined;
    if (address === undefined) return undefined;
    const identifies = (call: SidecarRequest): boolean => peers.identifies(call);
    const found = route('invoke', ['*'], ANY_PATH, (call) => peers.answerPeer(call, address), { identifies });
    return { route: found, params: {} };
  };
}

/** Sidecars escape the target, which may have characters that no header field can hold. */
function addressed(peers: Peers, wire: Wire, request: SidecarRequest): CallAddress | undefined {
  const address = addressOfHeaders(request, wire.headers.appId);
  if (address === undefined || !peers.isPeer(request)) return address;
  return { ...address, target: decodedTarget(address.target) };
}

function callOf(peers: Peers, address: CallAddress): Route {
  return route('invoke', ['*'], ANY_PATH, (request) => peers.answer(request, address), {
    identifies: (request) => peers.identifies(request),
  });
}
