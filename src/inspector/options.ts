import { SidecarError } from '../errors.ts';
import { HOST_NAME } from '../http/browser-guard.ts';
import type { SidecarRequest } from '../http/message.ts';
import { isHeaderText } from '../util/header-text.ts';
import { checkFields, checkFunction, fieldNames } from '../util/known-fields.ts';
import type { Role } from './api/apps.ts';
import type { PayloadOption } from './payload.ts';

/** A caller's permission: to do nothing, to look, or to look and act. @public */
export type InspectorRole = 'none' | Role;

/** A caller's permission and identity. @public */
export type InspectorGrant = InspectorRole | { readonly role: InspectorRole; readonly who?: string };

/** Options of {@link inspect}. One of `token`, `authorize` and `access` is needed: without, every request is refused. @public */
export interface InspectOptions {
  /**
   * Allows its holder to look and act. The page is opened once with `?token=…`, which becomes a cookie that this
   * process accepts for 24 hours; programs send `Authorization: Bearer …`. At least 16 visible ASCII characters, best
   * random ones: `openssl rand -base64 24`.
   */
  readonly token?: string | undefined;
  /** Decides about each request, by the application's own means. A rejection or exception refuses the request. */
  readonly authorize?: (request: SidecarRequest) => InspectorGrant | Promise<InspectorGrant>;
  /** `open`: everyone who reaches the inspector may look and act. */
  readonly access?: 'open';
  /** Whether no caller may act, whatever else is set. Default: false. */
  readonly readOnly?: boolean;
  /**
   * The names by which the inspector is reached on this host beside `localhost`, names that end in `.localhost`, and IP
   * addresses, without ports: needed behind a proxy on the same host that passes the name on. Others are refused,
   * because a web page could have its own name lead here. With `access: 'open'` browsers need them on any host.
   */
  readonly hosts?: readonly string[];
  /**
   * How payloads are shown and recorded. Default `full`. Whatever is set, the values of members whose names end in
   * `password`, `token`, `authorization`, `secret` or `apiKey` (in any case, also with `-` and `_`) are masked.
   */
  readonly payloads?: PayloadOption;
  /** Makes a link of a trace ID, such as `https://traces.example/{traceId}`. Default: no links. */
  readonly traceUrl?: string;
  /** Whether what happens is recorded while somebody looks, or always. Default `watched`. */
  readonly record?: 'watched' | 'always';
  /** The maximum size of a request body. Default: 1 MiB. */
  readonly bodyLimitBytes?: number;
}

type Defaults = 'readOnly' | 'hosts' | 'payloads' | 'record' | 'bodyLimitBytes';

/** Options, checked and complete. */
export type InspectSettings = Omit<InspectOptions, Defaults> & Required<Pick<InspectOptions, Defaults>>;

const FIELDS = fieldNames<InspectOptions>({
  token: true,
  authorize: true,
  access: true,
  readOnly: true,
  hosts: true,
  payloads: true,
  traceUrl: true,
  record: true,
  bodyLimitBytes: true,
});

const WAYS = ['token', 'authorize', 'access'] as const;
/** Shorter ones can be guessed. */
const MIN_TOKEN_LENGTH = 16;
const DEFAULT_BODY_LIMIT_BYTES = 1024 * 1024;

/**
 * Checks options and fills in defaults.
 *
 * @throws SidecarError `ERR_CONFIGURATION`; the message never shows a token.
 */
export function resolveInspectOptions(options: InspectOptions): InspectSettings {
  checkFields(options, FIELDS, 'options of inspect', 'ERR_CONFIGURATION');
  checkAccess(options);
  const { readOnly = false, hosts = [], payloads = 'full', record = 'watched', traceUrl } = options;
  const { bodyLimitBytes = DEFAULT_BODY_LIMIT_BYTES } = options;
  demand(typeof readOnly === 'boolean', 'readOnly', 'a boolean', readOnly);
  demand(record === 'watched' || record === 'always', 'record', '"watched" or "always"', record);
  demand(Number.isInteger(bodyLimitBytes) && bodyLimitBytes > 0, 'bodyLimitBytes', 'an integer from 1', bodyLimitBytes);
  if (payloads !== 'full' && payloads !== 'none')
    demand(typeof payloads === 'function', 'payloads', '"full", "none" or a function', payloads);
  demand(Array.isArray(hosts) && hosts.every(isHostName), 'hosts', 'names of hosts, without ports', hosts);
  if (traceUrl !== undefined)
    demand(isTraceUrl(traceUrl), 'traceUrl', 'an http or https URL with {traceId} in it', traceUrl);
  return { ...options, readOnly, hosts, payloads, record, bodyLimitBytes };
}

function checkAccess(options: InspectOptions): void {
  const { token, authorize, access } = options;
  const given = WAYS.filter((way) => options[way] !== undefined);
  if (given.length > 1)
    throw invalid(`options of inspect: ${given.join(' and ')} exclude each other: expected one of ${WAYS.join(', ')}`);
  // The text after `Bearer` has no spaces.
  if (token !== undefined && !(isHeaderText(token) && !token.includes(' ') && token.length >= MIN_TOKEN_LENGTH))
    throw invalid(
      `options.token of inspect: expected visible ASCII characters without spaces, at least ${MIN_TOKEN_LENGTH}`,
    );
  if (authorize !== undefined) checkFunction(authorize, 'options.authorize of inspect');
  if (access !== undefined) demand(access === 'open', 'access', '"open"', access);
}

function isHostName(host: unknown): boolean {
  return typeof host === 'string' && new RegExp(HOST_NAME).test(host);
}

function isTraceUrl(url: unknown): boolean {
  return typeof url === 'string' && /^https?:\/\//i.test(url) && url.includes('{traceId}') && URL.canParse(url);
}

function demand(isMet: boolean, name: keyof InspectOptions, expected: string, actual: unknown): void {
  if (!isMet) throw invalid(`options.${name} of inspect is ${JSON.stringify(actual)}: expected ${expected}`);
}

function invalid(problem: string): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', problem);
}
