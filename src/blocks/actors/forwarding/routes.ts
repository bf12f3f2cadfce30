import { SidecarError } from '../../../errors.ts';
import { readBody } from '../../../http/body.ts';
import { endToEnd } from '../../../http/end-to-end.ts';
import {
  cancelTokenOf,
  EMPTY_BODY,
  headerOf,
  type SidecarRequest,
  type SidecarResponse,
} from '../../../http/message.ts';
import { type Route, route } from '../../../http/router.ts';
import type { Identity } from '../../../security/identity.ts';
import type { Wire } from '../../../wire.ts';
import type { ActorAddress } from '../model/address.ts';
import type { TimerOperation } from '../model/call.ts';
import type { InboundActorCalls } from './inbound-calls.ts';
import { HOST_CALLS, LEAVING_STATUS, OUTCOME_HEADER } from './remote-peer.ts';

/** The names in the path of a call. */
interface CallParams extends ActorAddress {
  readonly method: string;
}

/** The dependencies of {@link actorHostRoutes}. */
export interface ActorHostRoutesDeps {
  /** Does the calls; `undefined` while actors are not there. */
  readonly inbound: () => InboundActorCalls | undefined;
  readonly identity: Identity | undefined;
  readonly wire: Wire;
  readonly bodyLimitBytes: number;
}

const MOVED: SidecarResponse = { status: 421, headers: { [OUTCOME_HEADER]: 'moved' }, body: EMPTY_BODY };
/** As well, and this host stops: its connections will close, so that nobody should ask it again. */
const LEAVING: SidecarResponse = { ...MOVED, status: LEAVING_STATUS };

/** The route of calls of other hosts: for `sidecar.peers` only, not for the API. */
export function actorHostRoutes({ inbound, identity, wire, bodyLimitBytes }: ActorHostRoutesDeps): Route[] {
  const { chainHeader, cancelHeader, callHeaders } = wire.actorRules;
  const notPassed = new Set([...Object.values(wire.headers), chainHeader, cancelHeader, ...Object.keys(callHeaders)]);
  const call = async (
    request: SidecarRequest,
    { actorType, actorId, method }: CallParams,
    timer?: TimerOperation,
  ): Promise<SidecarResponse> => {
    const token = request.headers[wire.headers.identity];
    if (identity === undefined || token === undefined)
      throw new SidecarError('ERR_UNAUTHORIZED', 'calls between hosts need an identity token');
    const caller = await identity.verify(String(token));
    const body = await readBody(request, bodyLimitBytes);
    const host = inbound();
    const reply = await host?.call(
      { actorType, actorId },
      {
        ...{ method, timer, search: request.search, headers: endToEnd(request.headers, notPassed), body },
        chain: headerOf(request.headers, chainHeader) || undefined,
        cancel: cancelTokenOf(request),
      },
      caller,
    );
    if (reply === undefined) return host?.isStopped === true ? LEAVING : MOVED;
    return { ...reply, headers: { ...reply.headers, [OUTCOME_HEADER]: 'answered' } };
  };
  const path = `${HOST_CALLS}/:actorType/:actorId` as const;
  const options = { hasKeys: true, isMinor: true };
  return [
    route('actors', ['POST'], `${path}/method/:method`, (request, params) => call(request, params), options),
    route('actors', ['POST'], `${path}/set-timer/:method`, (request, params) => call(request, params, 'set'), options),
    route(
      'actors',
      ['POST'],
      `${path}/delete-timer/:method`,
      (request, params) => call(request, params, 'delete'),
      options,
    ),
  ];
}
