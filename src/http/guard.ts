import { createHash, timingSafeEqual } from 'node:crypto';
import { isUint8Array } from 'node:util/types';
import { type FailedEntry, isApiError, messageOf, SidecarError } from '../errors.ts';
import { observe, type Probe } from '../probe.ts';
import type { Logger } from '../util/logger.ts';
import type { Answers } from './answers.ts';
import { type BrowserGuard, forbidden } from './browser-guard.ts';
import { codeOnWire } from './code-on-wire.ts';
import {
  cancelTokenOf,
  EMPTY_BODY,
  type Handler,
  headerOf,
  jsonResponse,
  leaveBody,
  type SidecarRequest,
  type SidecarResponse,
} from './message.ts';
import type { Match, Router } from './router.ts';

export interface GuardOptions {
  readonly router: Router;
  readonly logger: Logger;
  /** The token that callers must send, and its header. */
  readonly token?: { readonly header: string; readonly value: string };
  /** Refuses requests of browsers where no token is asked for; `advice` says what to do. */
  readonly browsers?: { readonly guard: BrowserGuard; readonly advice: string };
  /** Names used in error bodies. */
  readonly errors: {
    readonly domain: string;
    readonly reasonPrefix: string;
    readonly failedEntryKeys: readonly string[];
  };
  /** Finds a route for a path without one, by other parts of the request. */
  readonly fallback?: (request: SidecarRequest) => Match | undefined;
  /** Throws while requests are not accepted. */
  readonly admit: (match: Match) => void;
  /** Counts the requests in progress. */
  readonly answers: Answers;
  /** Called for requests with full access to the API because no token is configured. */
  readonly unguarded?: (request: SidecarRequest) => void;
  /** Sees the requests. */
  readonly probe?: Probe | undefined;
}

/**
 * Wraps the route table: finds the route, checks the API token or else that no stranger's page calls, turns thrown errors
 * into responses. The returned handler never rejects.
 */
export function guard(options: GuardOptions): Handler {
  const refusalOf = admission(options);
  // Callers without access must not learn which methods and paths exist.
  const find = (request: SidecarRequest): Match | undefined => {
    try {
      return options.router.match(request.method, request.path) ?? options.fallback?.(request);
    } catch (error) {
      throw refusalOf(request) ?? error;
    }
  };
  const { answers, unguarded, probe } = options;
  const refuse = (error: SidecarError, request: SidecarRequest): SidecarResponse => {
    const response = errorResponse(error, options.errors);
    return request.method === 'HEAD' ? withoutBody(response) : response;
  };
  return async (request) => {
    let counted: number | undefined;
    try {
      const match = find(request);
      if (match === undefined) {
        const error = refusalOf(request) ?? notFound(request);
        return { ...refuse(error, request), unrouted: true };
      }
      if (!isOpen(match, request) && !match.route.identifies?.(request)) {
        const refusal = refusalOf(request);
        if (refusal !== undefined) throw refusal;
        unguarded?.(request);
      }
      options.admit(match);
      counted = answers.begin();
      const response = await (probe === undefined || match.route.isMinor
        ? match.route.handle(request, match.params)
        : observed(probe, match, request));
      return answers.endWith(request.method === 'HEAD' ? withoutBody(response) : response, counted, request);
    } catch (error) {
      if (counted !== undefined) answers.end(counted);
      return refuse(toSidecarError(error, request, options.logger), request);
    }
  };
}

function observed(probe: Probe, { route, params }: Match, request: SidecarRequest): Promise<SidecarResponse> {
  const { method, path, headers } = request;
  return observe(probe, { type: 'serve', method, path, route: route.pattern, headers }, async (observation) => {
    try {
      const response = await route.handle(request, params);
      observation.end({ status: response.status });
      return response;
    } catch (error) {
      const status = isApiError(error) ? error.status : 500;
      observation.end({ status, failure: { reason: messageOf(error), thrown: { value: error } } });
      throw error;
    }
  });
}

/** Why a request may not use the API; `undefined` if it may. */
type Admission = (request: SidecarRequest) => SidecarError | undefined;

function admission({ token, browsers }: GuardOptions): Admission {
  if (token !== undefined) return tokenCheck(token);
  if (browsers === undefined) return () => undefined;
  const { guard, advice } = browsers;
  return (request) => {
    const problem = guard.problemOf(request);
    return problem === undefined ? undefined : forbidden(`${problem}; ${advice}`);
  };
}

/** Compares digests, so that the time taken reveals neither length nor content of the token. */
function tokenCheck({ header, value }: NonNullable<GuardOptions['token']>): Admission {
  const expected = digest(value);
  return ({ headers }) =>
    timingSafeEqual(digest(headerOf(headers, header) ?? ''), expected) ? undefined : unauthorized(header);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function isOpen(match: Match, request: SidecarRequest): boolean {
  return match.route.open && (request.method === 'GET' || request.method === 'HEAD');
}

function unauthorized(header: string): SidecarError {
  return new SidecarError('ERR_UNAUTHORIZED', `API token is missing or wrong: expected in header ${header}`);
}

function notFound(request: SidecarRequest): SidecarError {
  // An adapter passes an empty path for requests outside its mount point.
  if (request.path !== '' && !request.path.startsWith('/')) {
    return new SidecarError('ERR_BAD_REQUEST', `request target ${JSON.stringify(request.path)} is not a path`);
  }
  return new SidecarError('ERR_NOT_FOUND', `no route for ${request.method} ${request.path}`);
}

function toSidecarError(error: unknown, request: SidecarRequest, logger: Logger): SidecarError {
  if (isApiError(error)) {
    if (error.status >= 500) logger.debug({ code: error.code, error }, 'request failed');
    return error;
  }
  const level = cancelTokenOf(request).aborted ? 'debug' : 'error';
  logger[level]({ method: request.method, path: request.path, error }, 'request failed unexpectedly');
  return new SidecarError('ERR_INTERNAL', 'internal error; the log of the sidecar has the cause');
}

/** An error body: `errorCode`, `message`, and `details` if there are any; a bulk publish failure has its own shape. */
function errorResponse(error: SidecarError, names: GuardOptions['errors']): SidecarResponse {
  const { failedEntries } = error;
  if (failedEntries !== undefined)
    return jsonResponse(
      error.status,
      { failedEntries: renderFailedEntries(failedEntries, names), errorCode: codeOnWire(error) },
      error.headers,
    );
  const body = { errorCode: codeOnWire(error), message: error.message, ...renderDetails(error, names) };
  return jsonResponse(error.status, body, error.headers);
}

function renderFailedEntries(entries: readonly FailedEntry[], names: GuardOptions['errors']): object[] {
  return entries.map(({ entryId, error }) => ({
    ...Object.fromEntries(names.failedEntryKeys.map((key) => [key, entryId])),
    error,
  }));
}

function renderDetails(error: SidecarError, names: GuardOptions['errors']): { details?: unknown[] } {
  const { details } = error;
  if (details === undefined) return {};
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    domain: names.domain,
    metadata: details.metadata,
    reason: names.reasonPrefix + details.reason,
  };
  const { resource, field } = details;
  const resourceInfo = resource && {
    '@type': 'type.googleapis.com/google.rpc.ResourceInfo',
    description: error.message,
    owner: '',
    resource_name: resource.name,
    resource_type: resource.type,
  };
  const badRequest = field !== undefined && {
    '@type': 'type.googleapis.com/google.rpc.BadRequest',
    field_violations: [{ field, description: error.message }],
  };
  return { details: [...(resourceInfo ? [resourceInfo] : []), info, ...(badRequest ? [badRequest] : [])] };
}

/** The response to HEAD: the response to GET, with its length and without its bytes. */
function withoutBody(response: SidecarResponse): SidecarResponse {
  leaveBody(response.body);
  if (!isUint8Array(response.body) || response.body.length === 0) return { ...response, body: EMPTY_BODY };
  const headers = { ...response.headers, 'content-length': String(response.body.length) };
  return { ...response, headers, body: EMPTY_BODY };
}
