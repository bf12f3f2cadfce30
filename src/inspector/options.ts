import { HOST_NAME } from '../http/browser-guard.ts';
import type { SidecarRequest } from '../http/message.ts';
import type { Complete } from '../util/defined-only.ts';
import { isHeaderText } from '../util/header-text.ts';
import {
  BOOLEAN,
  checkOptions,
  choice,
  FUNCTION,
  field,
  invalidConfiguration,
  type OptionFields,
  secret,
  whole,
} from '../util/option-fields.ts';
import type { PayloadOption } from './payload.ts';

/** A caller's permission: to do nothing, to look, or to look and act. @public */
export type InspectorRole = 'none' | 'read' | 'write';

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
  readonly authorize?: ((request: SidecarRequest) => InspectorGrant | Promise<InspectorGrant>) | undefined;
  /** `open`: everyone who reaches the inspector may look and act. */
  readonly access?: 'open' | undefined;
  /** Whether no caller may act, whatever else is set. Default: false. */
  readonly readOnly?: boolean | undefined;
  /**
   * The names by which the inspector is reached on this host beside `localhost`, names that end in `.localhost`, and IP
   * addresses, without ports: needed behind a proxy on the same host that passes the name on. Others are refused,
   * because a web page could have its own name lead here. With `access: 'open'` browsers need them on any host.
   */
  readonly hosts?: readonly string[] | undefined;
  /**
   * How payloads are shown and recorded. Default `full`. Whatever is set, the values of members whose names end in
   * `password`, `token`, `authorization`, `secret` or `apiKey` (in any case, also with `-` and `_`) are masked.
   */
  readonly payloads?: PayloadOption | undefined;
  /** Makes a link of a trace ID, such as `https://traces.example/{traceId}`. Default: no links. */
  readonly traceUrl?: string | undefined;
  /** Whether what happens is recorded while somebody looks, or always. Default `watched`. */
  readonly record?: 'watched' | 'always' | undefined;
  /** The maximum size of a request body. Default: 1 MiB. */
  readonly bodyLimitBytes?: number | undefined;
}

type Defaults = 'readOnly' | 'hosts' | 'payloads' | 'record' | 'bodyLimitBytes';

/** Options, checked and complete. */
export type InspectSettings = Omit<InspectOptions, Defaults> & Complete<Pick<InspectOptions, Defaults>>;

/** Shorter tokens can be guessed. */
const MIN_TOKEN_LENGTH = 16;
const DEFAULT_BODY_LIMIT_BYTES = 1024 * 1024;

const FIELDS: OptionFields<InspectOptions> = {
  token: secret(field(isToken, `visible ASCII characters without spaces, at least ${MIN_TOKEN_LENGTH}`)),
  authorize: FUNCTION,
  access: choice('open'),
  readOnly: BOOLEAN,
  hosts: field((value) => Array.isArray(value) && value.every(isHostName), 'names of hosts, without ports'),
  payloads: field(isPayloadOption, 'full, none or a function'),
  traceUrl: field(isTraceUrl, 'an http or https URL with {traceId} in it'),
  record: choice('watched', 'always'),
  bodyLimitBytes: whole(1),
};

const WAYS = ['token', 'authorize', 'access'] as const;

/**
 * Checks options and fills in defaults.
 *
 * @throws SidecarError `ERR_CONFIGURATION`; the message never shows a token.
 */
export function resolveInspectOptions(options: InspectOptions): InspectSettings {
  checkOptions('options of inspect', options, FIELDS);
  const ways = WAYS.filter((way) => options[way] !== undefined);
  if (ways.length > 1)
    throw invalidConfiguration(
      `options of inspect: ${ways.join(' and ')} exclude each other: expected one of ${WAYS.join(', ')}`,
    );
  const { readOnly = false, hosts = [], payloads = 'full', record = 'watched' } = options;
  const { bodyLimitBytes = DEFAULT_BODY_LIMIT_BYTES } = options;
  return { ...options, readOnly, hosts, payloads, record, bodyLimitBytes };
}

/** The text after `Bearer` has no spaces. */
function isToken(token: unknown): boolean {
  return isHeaderText(token) && !token.includes(' ') && token.length >= MIN_TOKEN_LENGTH;
}

function isHostName(host: unknown): boolean {
  return typeof host === 'string' && new RegExp(HOST_NAME).test(host);
}

function isPayloadOption(value: unknown): boolean {
  return value === 'full' || value === 'none' || typeof value === 'function';
}

function isTraceUrl(url: unknown): boolean {
  return typeof url === 'string' && /^https?:\/\//i.test(url) && url.includes('{traceId}') && URL.canParse(url);
}
