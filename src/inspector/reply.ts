import { isApiError, SidecarError } from '../errors.ts';
import { codeOnWire } from '../http/code-on-wire.ts';
import {
  cancelTokenOf,
  EMPTY_BODY,
  type HeaderMap,
  jsonResponse,
  type SidecarRequest,
  type SidecarResponse,
} from '../http/message.ts';
import type { Logger } from '../util/logger.ts';
import type { ApiError } from './api/apps.ts';
import type { ApiAnswer } from './route.ts';

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The header fields of every response: what a browser may do with it. */
const GUARDS: HeaderMap = Object.freeze({
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
});

const NO_STORE: HeaderMap = Object.freeze({ 'cache-control': 'no-store' });

/** A response as it is sent: with what a browser must know. Nothing is kept by caches unless it says so itself. */
export function guarded(response: SidecarResponse): SidecarResponse {
  return { ...response, headers: { ...NO_STORE, ...response.headers, ...GUARDS } };
}

/** The response of a route's answer. */
export function answerResponse(answer: ApiAnswer): SidecarResponse {
  if ('response' in answer) return answer.response;
  return answer.json === undefined ? { status: 204, headers: {}, body: EMPTY_BODY } : jsonResponse(200, answer.json);
}

/** The error to answer with. An unexpected one is logged, and not shown. */
export function knownError(error: unknown, request: SidecarRequest, logger: Logger): SidecarError {
  if (isApiError(error)) return error;
  const level = cancelTokenOf(request).aborted ? 'debug' : 'error';
  logger[level]({ method: request.method, path: request.path, error }, 'inspector: request failed unexpectedly');
  return new SidecarError('ERR_INTERNAL', 'internal error; the log of the sidecar has the cause');
}

export function errorResponse(error: SidecarError): SidecarResponse {
  const { status, message, headers } = error;
  return jsonResponse(status, { errorCode: codeOnWire(error), message } satisfies ApiError, headers);
}

export function textResponse(status: number, text: string, headers: HeaderMap = {}): SidecarResponse {
  return {
    status,
    headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' },
    body: Buffer.from(`${text}\n`),
  };
}
