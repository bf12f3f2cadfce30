import { Readable } from 'node:stream';
import { isUint8Array } from 'node:util/types';
import { SidecarError } from '../../errors.ts';
import type { SidecarEventEmitter } from '../../events.ts';
import { afterBody, readAll } from '../../http/body.ts';
import {
  type Body,
  cancelTokenOf,
  type HeaderMap,
  request as makeRequest,
  PlainRequest,
  requestTarget,
  type SidecarRequest,
  type SidecarResponse,
} from '../../http/message.ts';
import { WHOLE_BODY_BYTES } from '../../http/response-assembly.ts';
import type { Probe } from '../../probe.ts';
import type { Policy } from '../../resiliency/policy.ts';
import { CancelSource, type CancelToken, cancelWith, unlessAborted } from '../../util/cancel-token.ts';
import { setGracePeriod } from '../../util/grace-period.ts';
import { checkFields, fieldNames, nameOfKind } from '../../util/known-fields.ts';
import { Linked } from '../../util/linked.ts';
import { nodeHttp } from '../../util/node-http.ts';
import { invalidArgument, SIGNAL } from '../../util/option-fields.ts';
import { inCode } from '../in-code.ts';
import type { CallAddress } from './address.ts';
import type { Destination } from './destination.ts';
import type { Destinations } from './destinations.ts';
import { asFailed, notOffered, refused, shown } from './errors.ts';
import { asksForUpgrade, passOn, type RequestHeaders } from './headers.ts';
import { checkPath, checkQuery } from './method-path.ts';
import { ObservedDestination } from './observed-destination.ts';
import { InvocationReply } from './reply.ts';
import { type AttemptDeps, sendByPolicy, sendUntilAnswered } from './send-with-retry.ts';
import { ToldCall } from './told-call.ts';

/** Options of {@link Invocation.invoke}. @public */
export interface InvocationInit {
  /** The HTTP method, in any case. Default `GET`, for a call without a body; one with a body needs it. */
  readonly method?: string | undefined;
  /** Header fields; names in any case. */
  readonly headers?: HeaderMap | undefined;
  /**
   * Bytes, a stream of bytes, text (sent as UTF-8), or any other value (sent as JSON with its content type). A Node
   * stream is destroyed if the call fails, or if it has no reader yet when the answer has come to its end, unless it is
   * an HTTP message.
   */
  readonly body?: unknown;
  /** Appended to the query of the path, in this order. */
  readonly query?: Readonly<Record<string, string>> | URLSearchParams | undefined;
  /** Cancels the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const INIT_FIELDS = fieldNames<InvocationInit>({ method: true, headers: true, body: true, query: true, signal: true });

export interface InvocationDeps extends AttemptDeps {
  readonly destinations: Destinations;
  readonly headers: RequestHeaders;
  readonly events: SidecarEventEmitter;
  readonly probe: Probe | undefined;
  /** The longest body that is kept for retries. */
  readonly replayLimitBytes: number;
  /** Throws while calls are not accepted. */
  readonly admit: () => void;
  /** How long a stop waits for responses. */
  readonly gracePeriodMs: number;
  readonly close: () => Promise<void>;
}

/** The parts of a request that are not sent as received. */
interface Sendable {
  readonly path: string;
  readonly body: Body;
  readonly call: CancelToken;
}

/** Read by the first call. */
let knownMethods: ReadonlySet<string> | undefined;

/**
 * Calls other applications, HTTP endpoints and URLs.
 *
 * @example
 * ```ts
 * const reply = await sidecar.invocation.invoke('billing', 'charge', { method: 'POST', body: { orderId: 1 } });
 * if (reply.ok) console.log(await reply.json());
 * ```
 * @public
 */
export class Invocation {
  readonly #deps: InvocationDeps;
  /** Calls whose responses have not been read to their end. */
  readonly #calls = new Linked<CancelSource>();
  #underWay = 0;
  #idle: (() => void) | undefined;

  /** @internal */
  constructor(deps: InvocationDeps) {
    this.#deps = deps;
  }

  /**
   * Calls a path of a target. Returns the target's response, whatever its status.
   *
   * @param target - an app ID, `<appId>.<namespace>`, the name of an HTTP endpoint, or a URL
   * @param path - the path at the target, with or without a leading slash and with an optional query. Characters that
   * are not valid in a URL are percent-encoded
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for arguments and options that cannot be. `ERR_DIRECT_INVOKE`: 400 for a request that cannot be sent, 403 if the target's access control
   * denies the call, 500 if the target is unknown or does not respond, 501 for CONNECT.
   */
  async invoke(target: string, path: string, init: InvocationInit = {}): Promise<InvocationReply> {
    checkInit(init);
    const { method = 'GET', headers = {}, body, query, signal } = init;
    // A stream may fail before it is read: an error without a listener would end the process.
    if (body instanceof Readable) body.on('error', () => undefined);
    try {
      this.#deps.admit();
      checkArguments(target, path, init);
      const request = makeRequest(method.toUpperCase(), urlOf(path, query), {
        headers,
        body,
        ...(signal === undefined ? {} : { signal }),
      });
      const destination = this.#deps.destinations.find(target);
      const answer = await this.forward({ target, path: request.path }, request, destination);
      return new InvocationReply(target, body instanceof Readable ? closingUnread(body, answer) : answer);
    } catch (error) {
      if (body instanceof Readable) closeStream(body);
      throw inCode(error);
    }
  }

  /**
   * Forwards a request to its address and returns the response; both are streamed.
   *
   * @internal
   */
  async forward(
    { target, path }: CallAddress,
    request: SidecarRequest,
    destination: Destination = this.#deps.destinations.find(target),
  ): Promise<SidecarResponse> {
    checkMethod(request);
    checkPath(path);
    checkQuery(request.search);
    const { probe } = this.#deps;
    const to = probe === undefined ? destination : new ObservedDestination(destination, target, probe);
    const policy = to.policy(path);
    const told = ToldCall.begin(this.#deps, { target, path }, request, to);
    this.#underWay++;
    const { call, end } = this.#begin(cancelTokenOf(request));
    try {
      const keptBytes = this.#keptBytes(request, policy);
      const body = keptBytes > 0 ? await unlessAborted(readAll(request.body, keptBytes), call) : request.body;
      const outgoing = this.#outgoing(request, to, { path, body, call });
      const response =
        policy === undefined
          ? await sendUntilAnswered(to, outgoing, this.#deps, told)
          : await sendByPolicy(to, outgoing, policy, told);
      told?.end(response.status);
      const answer = passOn(response, request.method);
      if (!isUint8Array(answer.body)) return { ...answer, body: afterBody(answer.body, end) };
      end();
      return answer;
    } catch (error) {
      end();
      const failure = cancelTokenOf(request).aborted ? error : asFailed(target, error);
      told?.end(0);
      throw failure;
    } finally {
      this.#underWay--;
      if (this.#underWay === 0) this.#idle?.();
    }
  }

  /** A token cancelled by the caller and by a stop; its listeners live no longer than the call. */
  #begin(caller: CancelToken): { readonly call: CancelSource; readonly end: () => void } {
    const call = new CancelSource();
    const unsubscribe = cancelWith(call, caller);
    const place = this.#calls.add(call);
    const end = (): void => {
      this.#calls.delete(place);
      unsubscribe();
    };
    return { call, end };
  }

  #outgoing(request: SidecarRequest, destination: Destination, { path, body, call }: Sendable): SidecarRequest {
    const { method, headers } = request;
    const fields = destination.addTo(this.#deps.headers.copy(headers, body));
    return new PlainRequest(method, requestTarget(request, destination.pathOf(path)), fields, body, call);
  }

  /** How much of a streamed body of known length to read before sending it: if it is short or may be sent again. */
  #keptBytes({ headers, body }: SidecarRequest, policy: Policy | undefined): number {
    const length = headers['content-length'];
    if (isUint8Array(body) || length === undefined) return 0;
    const limit = policy?.mayRetry === true ? this.#deps.replayLimitBytes : WHOLE_BODY_BYTES;
    return Number(length) <= limit ? limit : 0;
  }

  /** Waits for responses, up to the stop timeout; not for the end of streamed ones. @internal */
  async stop(): Promise<void> {
    const { clock, gracePeriodMs } = this.#deps;
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setGracePeriod(clock, gracePeriodMs, resolve);
      this.#idle = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Cancels calls in progress and streamed responses, and closes the connections. @internal */
  async close(): Promise<void> {
    const reason = new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar has stopped before there was an answer');
    for (const call of this.#calls.take()) call.abort(reason);
    await this.#deps.close();
  }
}

/** Plain JavaScript may leave them out. */
function checkArguments(target: unknown, path: unknown, { method, body }: InvocationInit): void {
  if (typeof target !== 'string')
    throw refused(`the target is ${nameOfKind(target)}: expected an app ID or a URL`, 'target');
  if (typeof path !== 'string') throw refused(`the path is ${nameOfKind(path)}: expected a text`, 'path');
  if (method === undefined && body === undefined) return;
  if (typeof method !== 'string')
    throw refused(`the HTTP method is ${nameOfKind(method)}: expected one such as "POST"`, 'options.method');
}

function checkInit(init: InvocationInit): void {
  // Another order is the likeliest mistake: target, method, path.
  if (typeof init === 'string')
    throw invalidArgument(
      `options of invoke are ${shown(init)}: expected an object: invoke(target, path, { method: 'POST' })`,
      'init',
    );
  checkFields(init, INIT_FIELDS, 'options of invoke');
  const { signal, headers } = init;
  const expected = signal === undefined ? undefined : SIGNAL.expected(signal);
  if (expected !== undefined)
    throw invalidArgument(
      `signal in options of invoke is ${nameOfKind(signal)}: expected ${expected}`,
      'options.signal',
    );
  if (headers !== undefined && nameOfKind(headers) !== 'an object')
    throw invalidArgument(
      `headers in options of invoke are ${nameOfKind(headers)}: expected an object of texts by name`,
      'options.headers',
    );
}

function checkMethod({ method, headers }: SidecarRequest): void {
  // TRACE is answered with the request as it arrived, with the tokens that the sidecar has added.
  if (method === 'CONNECT' || method === 'TRACE') throw notOffered(`${method} is not offered: expected another method`);
  knownMethods ??= new Set(nodeHttp().METHODS);
  if (!knownMethods.has(method)) throw notOffered(`method ${shown(method)} is not known`);
  if (asksForUpgrade(headers)) throw notOffered(`upgrade to ${shown(String(headers['upgrade']))} is not offered`);
}

/** Its file would stay open. But over the connection of a request, the application still answers. */
function closeStream(body: Readable): void {
  if (!('httpVersion' in body)) body.destroy();
}

/** Closes a body without a reader at the end of the answer: an application may read it while it answers. */
function closingUnread(body: Readable, answer: SidecarResponse): SidecarResponse {
  const close = (): void => {
    if (body.readableFlowing === null) closeStream(body);
  };
  if (!isUint8Array(answer.body)) return { ...answer, body: afterBody(answer.body, close) };
  close();
  return answer;
}

/** The path and query to send. */
function urlOf(path: string, query: InvocationInit['query']): string {
  const slashed = path.startsWith('/') ? path : `/${path}`;
  const url = slashed.replace(/[^!-~]/gu, (character) => encodeURIComponent(Buffer.from(character).toString()));
  const added = query === undefined ? '' : new URLSearchParams(query).toString();
  if (added === '') return url;
  return `${url}${url.includes('?') ? '&' : '?'}${added}`;
}
