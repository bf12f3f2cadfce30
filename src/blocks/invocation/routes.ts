import type { SidecarRequest } from '../../http/message.ts';
import { type Match, type Route, route } from '../../http/router.ts';
import type { Wire } from '../../wire.ts';
import { type Address, addressOfHeaders, addressOfPath } from './address.ts';
import type { Peers } from './inbound-calls.ts';

const PATTERN = '/v1.0/invoke/**call';

export function invocationRoutes(peers: Peers): Route[] {
  return [
    route(
      'invoke',
      ['*'],
      PATTERN,
      (request, { call }) => peers.answer(request, addressOfPath(call, peers.isPeer(request))),
      {
        identifies: (request) => peers.identifies(request),
      },
    ),
  ];
}

/** The only route for other sidecars. */
export function peerRoutes(peers: Peers): Route[] {
  return [route('invoke', ['*'], PATTERN, (request, { call }) => peers.answerPeer(request, addressOfPath(call, true)))];
}

/** Finds the target in header fields, for paths without a route. */
export function invocationFallback(peers: Peers, wire: Wire): (request: SidecarRequest) => Match | undefined {
  return (request) => {
    const address = addressOfHeaders(request, wire.headers.appId);
    return address && { route: addressed(peers, address), params: {} };
  };
}

function addressed(peers: Peers, address: Address): Route {
  return route('invoke', ['*'], '/**path', (request) => peers.answer(request, address));
}
