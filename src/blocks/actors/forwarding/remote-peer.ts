import { isNoConnection } from '../../../app/no-connection.ts';
import { type ErrorCode, isApiError, messageOf, SidecarError } from '../../../errors.ts';
import { readAll } from '../../../http/body.ts';
import type { ClientPool } from '../../../http/client-pool.ts';
import { endToEnd } from '../../../http/end-to-end.ts';
import { type HeaderMap, headerOf, leaveBody, PlainRequest, type SidecarResponse } from '../../../http/message.ts';
import type { Caller, Identity } from '../../../security/identity.ts';
import { CancelSource, cancelWith } from '../../../util/cancel-token.ts';
import type { Wire } from '../../../wire.ts';
import type { ActorAddress } from '../model/address.ts';
import type { ActorCall, ActorReply } from '../model/call.ts';
import { invokeFailed } from '../model/errors.ts';
import type { ActorPeer } from './peer.ts';

/** The first part of the path of calls between hosts, for `sidecar.peers` only. Its version is that of their form. */
export const HOST_CALLS = '/hosts/v1/actors';
/** Says what has become of a call: it was answered by the actor, or the actor is not there. */
export const OUTCOME_HEADER = 'insidecar-outcome';
/** The status of an answer that the actor is not there, by a host that stops. */
export const LEAVING_STATUS = 503;

const MAX_REPLY_BYTES = 64 * 1024 * 1024;
/** Codes of a host that begins nothing: it stops, or has not started. */
const NOT_NOW: ReadonlySet<unknown> = new Set(['ERR_SHUTTING_DOWN', 'ERR_HEALTH_NOT_READY']);

/** The dependencies of a {@link RemotePeer}. */
export interface RemotePeerDeps {
  readonly identity: Identity;
  readonly wire: Wire;
  readonly clients: ClientPool;
  /** Calls back when the host is considered dead; call the result to unsubscribe. */
  readonly onDeath: (hostId: string, listener: () => void) => () => void;
  /** Called when the host says that it stops. */
  readonly onLeaving: (hostId: string) => void;
}

/** A host of another process. */
export interface RemoteHost {
  readonly id: string;
  readonly appId: string;
  readonly namespace: string;
  /** A URL of HTTP. */
  readonly address: string;
}

/** A host of another process, at its address: one signed request for each call. */
export class RemotePeer implements ActorPeer {
  readonly #deps: RemotePeerDeps;
  readonly #host: RemoteHost;
  readonly #origin: string;
  readonly #base: string;

  constructor(deps: RemotePeerDeps, host: RemoteHost) {
    this.#deps = deps;
    this.#host = host;
    const { origin, pathname } = new URL(host.address);
    this.#origin = origin;
    this.#base = pathname.replace(/\/+$/, '') + HOST_CALLS;
  }

  /** Its address. */
  get address(): string {
    return this.#host.address;
  }

  async call(address: ActorAddress, call: ActorCall, _caller: Caller): Promise<ActorReply | undefined> {
    const over = new CancelSource();
    const unsubscribe = cancelWith(over, call.cancel);
    const forget = this.#deps.onDeath(this.#host.id, () => over.abort(new Error('its host has died')));
    try {
      return await this.#send(address, call, over);
    } catch (error) {
      if (call.cancel.aborted) throw call.cancel.reason;
      if (isApiError(error)) throw error;
      // Nothing was sent.
      if (isNoConnection(error)) return undefined;
      throw invokeFailed(address, `its host did not answer: ${messageOf(over.aborted ? over.reason : error)}`, error);
    } finally {
      forget();
      unsubscribe();
    }
  }

  async #send(
    { actorType, actorId }: ActorAddress,
    call: ActorCall,
    cancel: CancelSource,
  ): Promise<ActorReply | undefined> {
    const { identity, wire, clients } = this.#deps;
    const parts = [actorType, actorId, operationOf(call), call.method].map(encodeURIComponent);
    const path = `${this.#base}/${parts.join('/')}`;
    const headers: HeaderMap = {
      ...call.headers,
      [wire.headers.identity]: await identity.sign(this.#host),
      ...(call.chain === undefined ? {} : { [wire.actorRules.chainHeader]: call.chain }),
    };
    const url = call.search === '' ? path : `${path}?${call.search}`;
    const { handle } = clients.clientOf(this.#origin);
    return this.#replyOf(await handle(new PlainRequest('POST', url, headers, call.body, cancel)));
  }

  async #replyOf(response: SidecarResponse): Promise<ActorReply | undefined> {
    const { status, headers, body } = response;
    const outcome = headerOf(headers, OUTCOME_HEADER);
    if (outcome === 'moved') {
      leaveBody(body);
      return this.#notThere(status === LEAVING_STATUS);
    }
    const bytes = await readAll(body, MAX_REPLY_BYTES);
    if (outcome === 'answered') {
      const { [OUTCOME_HEADER]: _outcome, ...fields } = endToEnd(headers);
      return { status, headers: fields, body: bytes };
    }
    const { errorCode, message } = errorOf(bytes);
    if (NOT_NOW.has(errorCode)) return this.#notThere(errorCode === 'ERR_SHUTTING_DOWN');
    throw failureOf(response, errorCode, message);
  }

  #notThere(isLeaving: boolean): undefined {
    if (isLeaving) this.#deps.onLeaving(this.#host.id);
  }
}

/** The part of the path of a call that says what is done. */
function operationOf({ timer }: ActorCall): string {
  return timer === undefined ? 'method' : `${timer}-timer`;
}

/** The error that another host has answered. */
function failureOf({ status, headers }: SidecarResponse, errorCode: unknown, message: unknown): Error {
  if (typeof errorCode !== 'string' || !errorCode.startsWith('ERR_') || typeof message !== 'string')
    return new Error(`it answered ${status}`);
  const retryAfter = headerOf(headers, 'retry-after');
  // The code is one of another host of this release, or is shown as it is.
  return new SidecarError(errorCode as ErrorCode, message, {
    status,
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
  });
}

function errorOf(body: Buffer): { readonly errorCode?: unknown; readonly message?: unknown } {
  try {
    return (JSON.parse(body.toString()) ?? {}) as object;
  } catch {
    return {};
  }
}
