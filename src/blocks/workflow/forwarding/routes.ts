import { SidecarError } from '../../../errors.ts';
import { readBody } from '../../../http/body.ts';
import type { SidecarRequest, SidecarResponse } from '../../../http/message.ts';
import { type Route, route } from '../../../http/router.ts';
import type { Caller, Identity } from '../../../security/identity.ts';
import type { Wire } from '../../../wire.ts';
import type { ForwardedWait, HostPeer } from './call.ts';
import { decodeBatch, decodeWaits, encodeAnswers, encodeOutcomes } from './call-codec.ts';
import { CALLS_PATH, WAITS_PATH } from './remote-host.ts';

/** The dependencies of {@link hostRoutes}. */
export interface HostRoutesDeps {
  /** Handles the calls; `undefined` while workflows do not run. */
  readonly inbound: () => HostPeer | undefined;
  readonly own: Caller;
  readonly identity: Identity | undefined;
  readonly wire: Wire;
  readonly bodyLimitBytes: number;
}

const JSON_HEADERS = Object.freeze({ 'content-type': 'application/json' });
const LINES_HEADERS = Object.freeze({ 'content-type': 'application/x-ndjson' });
/** Sent at once, so that the caller knows that the request arrived. */
const FIRST_LINE: Uint8Array = Buffer.from('\n');

/** Routes of calls between hosts of the same application: for `sidecar.peers` only, not for the API. */
export function hostRoutes(deps: HostRoutesDeps): Route[] {
  return [
    route('workflows', ['POST'], CALLS_PATH, (request) => calls(deps, request)),
    route('workflows', ['POST'], WAITS_PATH, (request) => waits(deps, request)),
  ];
}

async function calls(deps: HostRoutesDeps, request: SidecarRequest): Promise<SidecarResponse> {
  const inbound = await admitted(deps, request);
  const batch = decodeBatch(await readBody(request, deps.bodyLimitBytes));
  return { status: 200, headers: JSON_HEADERS, body: encodeOutcomes(await inbound.call(batch)) };
}

async function waits(deps: HostRoutesDeps, request: SidecarRequest): Promise<SidecarResponse> {
  const inbound = await admitted(deps, request);
  const asked = decodeWaits(await readBody(request, deps.bodyLimitBytes));
  return { status: 200, headers: LINES_HEADERS, body: linesOf(inbound, asked, request.signal) };
}

async function* linesOf(
  inbound: HostPeer,
  asked: readonly ForwardedWait[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield FIRST_LINE;
  for await (const answers of inbound.wait(asked, signal)) yield encodeAnswers(answers);
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
