import { SidecarError } from '../errors.ts';
import {
  EMPTY_BODY,
  type Handler,
  type HeaderMap,
  headerOf,
  leaveBody,
  type SidecarRequest,
  type SidecarResponse,
} from '../http/message.ts';
import { type JsonSchema, optionsSchema } from '../util/options-schema.ts';

/** Which web pages may read responses of the HTTP API. @public */
export interface CorsOptions {
  /**
   * Origins such as `https://shop.example.com` or `https://*.example.com` (one label of the host), or `*` alone for
   * every page. Cookies and other credentials of the browser are never allowed.
   */
  readonly origins: readonly string[];
}

/** The JSON schema of {@link CorsOptions}. */
export const CORS_SCHEMA: JsonSchema = optionsSchema<CorsOptions>(
  { origins: { type: 'array', maxItems: 1_000, items: { type: 'string', minLength: 1, maxLength: 300 } } },
  ['origins'],
);

const METHODS: readonly string[] = ['HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const PREFLIGHT_VARY = 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers';
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/;

/**
 * Adds CORS to the HTTP API. Preflights are answered before the API token is checked, because browsers send them
 * without it. An adapter may pass on a preflight whose path or requested header fields are not ours: the application
 * has its own rules.
 */
export function withCors(
  list: OriginList,
  handle: Handler,
  isOwn: (request: SidecarRequest, fields: readonly string[]) => boolean,
): Handler {
  return async (request) => {
    const origin = headerOf(request.headers, 'origin');
    const allowed = origin === undefined ? undefined : list.answerTo(origin);
    if (request.method === 'OPTIONS' && origin !== undefined && asksBefore(request)) {
      const answer = preflight(request, allowed);
      if (!isOwn(request, fieldsAskedFor(request))) return { ...answer, unrouted: true };
      leaveBody(request.body);
      return answer;
    }
    const response = await handle(request);
    return { ...response, headers: corsHeaders(response, allowed, list.isOpen) };
  };
}

function asksBefore(request: SidecarRequest): boolean {
  return request.headers['access-control-request-method'] !== undefined;
}

/** The header fields of the announced request; browsers send them in lower case. */
function fieldsAskedFor({ headers }: SidecarRequest): readonly string[] {
  const names = headerOf(headers, 'access-control-request-headers') ?? '';
  return names.split(',').map((name) => name.trim().toLowerCase());
}

/** Always 200: an origin that is not allowed gets no CORS headers. */
function preflight({ headers }: SidecarRequest, allowed: string | undefined): SidecarResponse {
  const method = headerOf(headers, 'access-control-request-method') ?? '';
  const names = headerOf(headers, 'access-control-request-headers');
  const isAllowed =
    allowed !== undefined && METHODS.includes(method) && (names === undefined || HEADER_NAMES.test(names));
  return {
    status: 200,
    headers: {
      vary: PREFLIGHT_VARY,
      ...(isAllowed ? { 'access-control-allow-origin': allowed, 'access-control-allow-methods': method } : {}),
      ...(isAllowed && names !== undefined ? { 'access-control-allow-headers': names } : {}),
    },
    body: EMPTY_BODY,
  };
}

/** The sidecar's headers replace those of an application that was called through it. */
function corsHeaders({ headers }: SidecarResponse, allowed: string | undefined, isOpen: boolean): HeaderMap {
  const vary = headerOf(headers, 'vary');
  return {
    ...headers,
    'access-control-allow-credentials': undefined,
    'access-control-allow-origin': allowed,
    ...(isOpen ? {} : { vary: vary === undefined || vary === '' ? 'Origin' : `${vary}, Origin` }),
  };
}

/** The allowed origins; compared in lower case, as browsers send them. */
export class OriginList {
  /** Whether every page is allowed. */
  readonly isOpen: boolean;
  readonly #exact = new Set<string>();
  readonly #wildcards: { readonly before: string; readonly after: string }[] = [];

  /** @throws SidecarError `ERR_CONFIGURATION` for an invalid origin. */
  constructor({ origins }: CorsOptions) {
    this.isOpen = origins.length === 1 && origins[0] === '*';
    if (!this.isOpen) for (const [index, origin] of origins.entries()) this.#add(origin.toLowerCase(), index);
  }

  #add(origin: string, index: number): void {
    const [before = '', after, ...more] = origin.split('*');
    const isWildcard = after !== undefined;
    // The star must be a whole label, the first one of the host, followed by another.
    if (more.length > 0 || (isWildcard && !(before.endsWith('://') && /^\.[^.]/.test(after))))
      throw noOrigin(origin, index);
    if (!isOrigin(isWildcard ? `${before}x${after}` : origin)) throw noOrigin(origin, index);
    if (isWildcard) this.#wildcards.push({ before, after });
    else this.#exact.add(origin);
  }

  /** The value of `Access-Control-Allow-Origin` for an origin; `undefined` if it is not allowed. */
  answerTo(origin: string): string | undefined {
    if (this.isOpen) return '*';
    const small = origin.toLowerCase();
    if (this.#exact.has(small)) return origin;
    const isMatch = this.#wildcards.some(
      ({ before, after }) =>
        small.startsWith(before) &&
        small.endsWith(after) &&
        /^[a-z0-9-]+$/.test(small.slice(before.length, small.length - after.length)),
    );
    return isMatch ? origin : undefined;
  }
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

function noOrigin(origin: string, index: number): SidecarError {
  return new SidecarError(
    'ERR_CONFIGURATION',
    `options.cors.origins.${index} ${JSON.stringify(origin)} is no origin: expected <scheme>://<host>[:<port>], with * for the first label of the host at most, or * as the only entry`,
  );
}
