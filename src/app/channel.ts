import type { IncomingMessage, ServerResponse } from 'node:http';
import { isUint8Array } from 'node:util/types';
import { messageOf } from '../errors.ts';
import { afterBody, asBuffer, readAll } from '../http/body.ts';
import {
  cancelTokenOf,
  EMPTY_BODY,
  type Handler,
  type HeaderMap,
  PlainRequest,
  requestTarget,
  type SidecarRequest,
  type SidecarResponse,
} from '../http/message.ts';
import type { Probe } from '../probe.ts';
import { CancelSource, type CancelToken } from '../util/cancel-token.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { withoutBrackets } from '../util/host.ts';
import { type Link, Linked } from '../util/linked.ts';
import type { Apart } from '../util/outside.ts';
import { Semaphore } from '../util/semaphore.ts';
import { type FetchApp, fetchTransport } from './fetch-app.ts';
import { grpcTransport } from './grpc-channel.ts';
import { portTransport } from './http-channel.ts';
import { listenerTransport, type RequestListener } from './in-process.ts';
import { TimeLimitError } from './time-limit-error.ts';
import { type AppAddress, type AppTransport, quietTransport } from './transport.ts';

/** An application in this process by shape: what Koa's `app` is. @public */
export interface CallbackApp {
  /** Makes the request listener. */
  callback(): RequestListener;
}

/** An application in this process by shape: what Fastify's `app` is. @public */
export interface RoutingApp {
  /** Resolves when it can take requests. */
  ready(): PromiseLike<unknown>;
  /** Takes a request. */
  routing(req: IncomingMessage, res: ServerResponse): void;
}

/** Where the application is: on a port, or in this process as a request listener or fetch function. @public */
export type AppTarget =
  | {
      /** The port it listens on. */
      readonly port: number;
      /**
       * Its host: a name, or an address with or without the brackets that one of IPv6 has in a URL. Default: `127.0.0.1`,
       * or `::1` if it listens only there (not with `protocol: 'grpc'`).
       */
      readonly host?: string | undefined;
      /**
       * Its protocol. A `grpc` application implements Dapr's `AppCallback` and gets invocations only; the package
       * `@grpc/grpc-js` must be installed. Default `http`.
       */
      readonly protocol?: 'http' | 'grpc' | undefined;
    }
  | {
      /** A request listener of node:http, an Express, Koa or Fastify app: called without a socket. */
      readonly listener: RequestListener | CallbackApp | RoutingApp;
    }
  | {
      /** A fetch function, such as a Hono app's: called without a socket. */
      readonly fetch: FetchApp;
    };

/** How an application is called. */
export interface TransportOptions {
  readonly probe?: Probe | undefined;
  /** How an application in this process is called. Default: in no trace. */
  readonly apart?: Apart | undefined;
  /** The largest head of a response of an application on a port, in bytes. Default 16 KiB. */
  readonly headLimitBytes?: number | undefined;
}

/** Opens the way to an application. */
export function openTransport(
  target: AppTarget,
  { probe, apart, headLimitBytes }: TransportOptions = {},
): AppTransport {
  if ('port' in target) {
    const { port, protocol } = target;
    const host = target.host === undefined ? undefined : withoutBrackets(target.host);
    const transport =
      protocol === 'grpc' ? grpcTransport(port, host ?? '127.0.0.1') : portTransport(port, host, headLimitBytes);
    return probe === undefined ? transport : quietTransport(transport, probe);
  }
  if ('fetch' in target) return fetchTransport(target.fetch, apart);
  return listenerTransport(listenerOf(target.listener), apart);
}

/** Koa fixes its middleware in `callback()`, Fastify its routes in `ready()`: call them at the first request. */
function listenerOf(app: RequestListener | CallbackApp | RoutingApp): RequestListener {
  if (typeof app === 'function') return app;
  if ('routing' in app) return routingListener(app);
  let listener: RequestListener | undefined;
  return (req, res) => {
    listener ??= app.callback();
    return listener(req, res);
  };
}

function routingListener(app: RoutingApp): RequestListener {
  let isReady = false;
  return async (req, res) => {
    if (!isReady) await app.ready();
    isReady = true;
    app.routing(req, res);
  };
}

/** The time limit of a call. */
export interface AppTimeLimit {
  /** How long the application may take, in milliseconds; 0 for no limit. */
  readonly timeLimitMs: number;
  /** Where the limit can be changed, for the log. */
  readonly remedy?: string;
}

/** A call to the application. */
export interface AppCall extends AppTimeLimit {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: HeaderMap;
  readonly body: Uint8Array;
}

/** The whole answer of the application. */
export interface AppReply {
  readonly status: number;
  readonly headers: HeaderMap;
  readonly body: Buffer;
}

/** Settings of an {@link AppChannel}. */
export interface AppChannelOptions {
  readonly clock: Clock;
  /** The most requests to the application at a time. */
  readonly maxConcurrency?: number;
  /** The token that the application expects of us, and its header. */
  readonly token?: { readonly header: string; readonly value: string };
}

const MAX_REPLY_BYTES = 16 * 1024 * 1024;
const MAX_PROBE_BYTES = 64 * 1024;

/** A call whose answer has not been read whole. */
class RunningCall extends CancelSource {
  place: Link<RunningCall> | undefined;
  /** Of the time limit. */
  timer: Timer | undefined;
}

/** Calls the application, with the token, the concurrency limit and a time limit. */
export class AppChannel {
  readonly #transport: AppTransport;
  readonly #options: AppChannelOptions;
  readonly #places: Semaphore | undefined;
  readonly #calls = new Linked<RunningCall>();

  constructor(transport: AppTransport, options: AppChannelOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#places = options.maxConcurrency === undefined ? undefined : new Semaphore(options.maxConcurrency);
  }

  /** Where the application is. */
  get address(): AppAddress {
    return this.#transport.address;
  }

  /** The most requests at a time, if limited. */
  get maxConcurrency(): number | undefined {
    return this.#options.maxConcurrency;
  }

  /** Passes a request on, streaming both ways; counts as a request until the answer has been read. */
  readonly handle: Handler = (request) => this.#pass(request, this.#send);

  /** Like `handle`, without the token: for a caller that has not proved its identity. */
  readonly handleWithoutToken: Handler = (request) => this.#pass(request, (passed) => this.#transport.handle(passed));

  /** `begin` is called as soon as it is the request's turn. */
  #pass(request: SidecarRequest, send: Handler, begin?: () => void): Promise<SidecarResponse> {
    if (this.#places !== undefined) return passInTurn(this.#places, request, send, begin);
    begin?.();
    return send(request);
  }

  readonly #send: Handler = (request) => {
    const { token } = this.#options;
    return this.#transport.handle(token === undefined ? request : withHeader(request, token.header, token.value));
  };

  /**
   * Calls the application and reads its whole answer, within the call's time limit. The time for which the call waits
   * for its turn does not count.
   */
  async call(call: AppCall): Promise<AppReply> {
    const running = this.#begin();
    try {
      const request = new PlainRequest(call.method, call.url, call.headers, call.body, running);
      const { status, headers, body } = await this.#pass(request, this.#send, () => this.#limit(running, call));
      return {
        status,
        headers,
        body: isUint8Array(body) ? asBuffer(body) : await readAll(body, MAX_REPLY_BYTES),
      };
    } finally {
      this.#end(running);
    }
  }

  /**
   * Checks the application's health with GET; returns the problem, if any. Sends no token and ignores the concurrency
   * limit: a busy application is still healthy.
   */
  async probe(url: string, timeLimitMs: number): Promise<string | undefined> {
    if (this.#transport.address.protocol === 'grpc')
      return (await this.#transport.isReachable()) ? undefined : 'it takes no connection';
    const running = this.#begin();
    this.#limit(running, { timeLimitMs });
    try {
      const { status, body } = await this.#transport.handle(new PlainRequest('GET', url, {}, EMPTY_BODY, running));
      // Read the body, so that the connection can be kept.
      await readAll(body, MAX_PROBE_BYTES).catch(() => undefined);
      return status >= 200 && status <= 299 ? undefined : `GET ${url} answered ${status}`;
    } catch (error) {
      return messageOf(error);
    } finally {
      this.#end(running);
    }
  }

  #begin(): RunningCall {
    const call = new RunningCall();
    call.place = this.#calls.add(call);
    return call;
  }

  /** Begins the time limit; 0 for none. */
  #limit(running: RunningCall, { timeLimitMs, remedy }: AppTimeLimit): void {
    const giveUp = (): void => running.abort(new TimeLimitError(timeLimitMs, remedy));
    if (timeLimitMs !== 0) running.timer = this.#options.clock.setTimeout(giveUp, timeLimitMs);
  }

  #end({ timer, place }: RunningCall): void {
    timer?.cancel();
    if (place !== undefined) this.#calls.delete(place);
  }

  /** Prepares the first call. @throws SidecarError `ERR_CONFIGURATION` when something is not installed */
  async open(): Promise<void> {
    await this.#transport.open?.();
  }

  /** Whether the application takes connections now. */
  isReachable(): Promise<boolean> {
    return this.#transport.isReachable();
  }

  /** Aborts the calls that are still running. */
  close(): Promise<void> {
    for (const call of this.#calls.take()) call.abort(new Error('the sidecar has stopped'));
    return this.#transport.close();
  }
}

function withHeader(request: SidecarRequest, name: string, value: string): SidecarRequest {
  const { method, headers, body } = request;
  const withIt = { ...headers, [name]: value };
  return new PlainRequest(method, requestTarget(request), withIt, body, cancelTokenOf(request));
}

async function passInTurn(
  places: Semaphore,
  request: SidecarRequest,
  send: Handler,
  begin?: () => void,
): Promise<SidecarResponse> {
  const cancelToken = cancelTokenOf(request);
  await places.acquire(cancelToken);
  begin?.();
  return withPlace(places, cancelToken, () => send(request));
}

/** Releases the semaphore when the answer's body has been read or left, when the caller goes, or without an answer. */
async function withPlace(
  places: Semaphore,
  cancelToken: CancelToken,
  answer: () => Promise<SidecarResponse>,
): Promise<SidecarResponse> {
  let response: SidecarResponse;
  try {
    response = await answer();
  } catch (error) {
    places.release();
    throw error;
  }
  if (isUint8Array(response.body)) {
    places.release();
    return response;
  }
  let isHeld = true;
  const release = (): void => {
    if (isHeld) places.release();
    isHeld = false;
    unsubscribe();
  };
  const unsubscribe = cancelToken.onAbort(release);
  if (cancelToken.aborted) release();
  return { ...response, body: afterBody(response.body, release) };
}
