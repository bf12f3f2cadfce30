import { SidecarError } from '../../../errors.ts';
import type { SidecarRequest, SidecarResponse } from '../../../http/message.ts';
import { type Route, route } from '../../../http/router.ts';
import type { Caller, Identity } from '../../../security/identity.ts';
import type { Wire } from '../../../wire.ts';
import type { HostPeer, PeerSession } from './call.ts';
import { decodeRequest, encodeAnswer, encodeOutcomes } from './call-codec.ts';
import { LineStream } from './line-stream.ts';
import { SESSION_PATH } from './remote-host.ts';

/** The dependencies of {@link hostRoutes}. */
export interface HostRoutesDeps {
  /** Handles the calls; `undefined` while workflows do not run. */
  readonly inbound: () => HostPeer | undefined;
  readonly own: Caller;
  readonly identity: Identity | undefined;
  readonly wire: Wire;
}

const LINES_HEADERS = Object.freeze({ 'content-type': 'application/x-ndjson' });

/** The route of sessions between hosts of the same application: for `sidecar.peers` only, not for the API. */
export function hostRoutes(deps: HostRoutesDeps): Route[] {
  return [route('workflows', ['POST'], SESSION_PATH, (request) => session(deps, request), { isMinor: true })];
}

async function session(deps: HostRoutesDeps, request: SidecarRequest): Promise<SidecarResponse> {
  const inbound = await admitted(deps, request);
  let opened: PeerSession | undefined;
  const stream = new LineStream({
    onLine: (line) => opened?.send(decodeRequest(line)),
    onEnd: () => opened?.close(),
  });
  try {
    opened = await inbound.open({
      outcomes: (outcomes) => stream.send(encodeOutcomes(outcomes)),
      answer: (answer) => stream.send(encodeAnswer(answer)),
      ended: () => stream.end(),
    });
  } catch (error) {
    stream.end(error);
    throw error;
  }
  void stream.read(request.body);
  return { status: 200, headers: LINES_HEADERS, body: stream.outgoing };
}

/** Admits only hosts of the same application. */
async function admitted({ inbound, own, identity, wire }: HostRoutesDeps, request: SidecarRequest): Promise<HostPeer> {
  const token = request.headers[wire.headers.identity];
  if (identity === undefined || token === undefined)
    throw new SidecarError('ERR_UNAUTHORIZED', 'calls between hosts need an identity token');
  const { appId, namespace, trustDomain } = await identity.verify(String(token));
  if (appId !== own.appId || namespace !== own.namespace || trustDomain !== own.trustDomain)
    throw new SidecarError('ERR_UNAUTHORIZED', 'calls between hosts are for those of one application only');
  const peer = inbound();
  if (peer === undefined) throw new SidecarError('ERR_HEALTH_NOT_READY', 'workflows do not run here');
  return peer;
}
