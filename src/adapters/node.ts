import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type AdapterOptions,
  checkMounted,
  EMPTY_BODY,
  type RequestHandler,
  type SidecarResponse,
} from '../http/message.ts';
import { belowPrefix, originForm } from './mount.ts';
import { NodeRequest } from './node-request.ts';
import { writeResponse } from './node-response.ts';
import type { ParsedBody } from './parsed-body.ts';
import { joinPipeline } from './pipeline.ts';

/** A listener for node:http's `createServer`; calls `next` for requests to pass on. @public */
export type NodeHandler = (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void) => void;

/**
 * Mounts the sidecar on `node:http`.
 *
 * @example
 * ```ts
 * createServer(nodeHandler(sidecar)).listen(3500, '127.0.0.1');
 * ```
 * @public
 */
export function nodeHandler(sidecar: RequestHandler, options: AdapterOptions = {}): NodeHandler {
  checkMounted(sidecar, options);
  return (req, res, next) => {
    const passOn = next ?? ((): void => void res.writeHead(404).end());
    answerNode(sidecar, { req, res, url: req.url ?? '/', parsed: req as ParsedBody }, options, passOn);
  };
}

/** One exchange of a framework built on node:http. */
export interface NodeExchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly url: string;
  /** The URL as it was received, where the framework keeps it apart from the request. */
  readonly originalUrl?: string;
  readonly parsed: ParsedBody;
}

/** Answers an exchange, or calls `passOn` if it is to be passed on instead. */
export function answerNode(
  sidecar: RequestHandler,
  exchange: NodeExchange,
  options: AdapterOptions,
  passOn: () => void,
): void {
  const handled = handleNode(sidecar, exchange, options);
  if (handled === undefined) return passOn();
  void handled.then((response) => {
    if (isPassedOn(response, options)) passOn();
    else void writeResponse(exchange.req, exchange.res, response);
  });
}

/** Whether a request is to be passed on instead of being answered. */
export function isPassedOn({ unrouted }: SidecarResponse, { fallthrough }: AdapterOptions): boolean {
  return unrouted === true && fallthrough === true;
}

/** Passes an exchange to the sidecar; `undefined` if it is to be passed on instead. */
export function handleNode(
  sidecar: RequestHandler,
  { req, res, url, originalUrl, parsed }: NodeExchange,
  { prefix, fallthrough }: AdapterOptions,
): Promise<SidecarResponse> | undefined {
  const below = belowPrefix(originForm(url), prefix);
  if (below === undefined && fallthrough) return undefined;
  const begin = (): Promise<SidecarResponse> =>
    sidecar.handle(new NodeRequest(req, res, { url: below ?? '', originalUrl, parsed }));
  const turn = res.socket === null && !res.writableEnded ? joinPipeline(req.socket, res) : undefined;
  return turn === undefined ? begin() : turn.then(() => (res.destroyed ? NOT_BEGUN : begin()));
}

/** A call whose client has left before it began is not sent: this is its outcome. */
const NOT_BEGUN: SidecarResponse = { status: 503, headers: {}, body: EMPTY_BODY };
