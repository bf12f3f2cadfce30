import { isUint8Array } from 'node:util/types';
import { HOP_BY_HOP, nominatedBy } from '../../http/end-to-end.ts';
import type { Body, HeaderMap, SidecarResponse } from '../../http/message.ts';
import { OWN_CALL_HEADER } from '../../http/own-calls.ts';
import type { Wire } from '../../wire.ts';
import { appIdOfCredentials } from './address.ts';
import { refused, shown } from './errors.ts';

/** Header fields under construction. */
export type Fields = Record<string, string | readonly string[]>;

/** An application may answer with the fields that it got. */
const NOT_IN_RESPONSES = new Set([...HOP_BY_HOP, OWN_CALL_HEADER]);
/** Fields needed before the body: too late in a trailer, and not to be trusted there. */
const NOT_IN_TRAILERS = new Set([
  ...HOP_BY_HOP,
  ...['content-length', 'content-type', 'content-encoding', 'content-range', 'host', 'authorization', 'set-cookie'],
  ...['cache-control', 'expires', 'age', 'date', 'location', 'vary', 'www-authenticate'],
]);

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** Selects the caller's header fields to forward to the target. */
export class RequestHeaders {
  readonly #dropped: ReadonlySet<string>;
  readonly #appIdHeader: string;

  constructor({ headers }: Wire) {
    this.#appIdHeader = headers.appId;
    // Our own fields are never accepted from outside; the host is the target's; Node has handled `expect`.
    const ours = [...Object.values(headers), OWN_CALL_HEADER];
    this.#dropped = new Set([...HOP_BY_HOP, 'host', 'expect', 'content-length', ...ours]);
  }

  /**
   * A copy of the fields to forward.
   *
   * @throws SidecarError `ERR_DIRECT_INVOKE` (400) for an invalid field, or contradictory framing of the body.
   */
  copy(headers: HeaderMap, body: Body): Fields {
    checkFraming(headers);
    const nominated = nominatedBy(headers['connection']);
    const fields: Fields = {};
    for (const name of Object.keys(headers)) {
      const value = headers[name];
      // Over HTTP/2, Node lists `:method` and the like among the fields.
      if (value === undefined || name.startsWith(':') || this.#dropped.has(name) || nominated?.has(name)) continue;
      checkField(name, value);
      fields[name] = value;
    }
    // Otherwise an application with this sidecar mounted would be called by it in an endless loop.
    if (appIdOfCredentials(fields['authorization'], this.#appIdHeader) !== undefined) delete fields['authorization'];
    const length = headers['content-length'];
    if (length !== undefined && !isUint8Array(body)) fields['content-length'] = length;
    return fields;
  }
}

/** Two statements about the end of the body allow request smuggling. */
function checkFraming(headers: HeaderMap): void {
  const length = headers['content-length'];
  const coding = headers['transfer-encoding'];
  if (length !== undefined && (typeof length !== 'string' || !/^\d{1,15}$/.test(length)))
    throw refused(`header content-length is ${shown(String(length))}: expected one number`, 'options.headers');
  if (coding === undefined) return;
  if (length !== undefined)
    throw refused('both content-length and transfer-encoding are there: expected one of them', 'options.headers');
  if (String(coding).toLowerCase() !== 'chunked')
    throw refused(`header transfer-encoding is ${shown(String(coding))}: expected chunked`, 'options.headers');
}

function checkField(name: string, value: string | readonly string[]): void {
  if (!NAME.test(name))
    throw refused(`header name ${shown(name)} is none: expected a token in lower case`, 'options.headers');
  if (typeof value === 'string' ? NOT_IN_VALUE.test(value) : value.some((one) => NOT_IN_VALUE.test(one)))
    throw refused(`header ${name} has a character that a header cannot have`, 'options.headers');
}

/** Whether the caller asks for another protocol; ignores the offer of HTTP/2 that some clients always make. */
export function asksForUpgrade({ upgrade, connection }: HeaderMap): boolean {
  if (upgrade === undefined || connection === undefined) return false;
  return String(upgrade).trim().toLowerCase() !== 'h2c' && nominatedBy(connection)?.has('upgrade') === true;
}

/** The response to forward to the caller: without fields of the connection to the target. */
export function passOn(response: SidecarResponse, method: string): SidecarResponse {
  const { status, headers, body, trailers } = response;
  const nominated = nominatedBy(headers['connection']);
  const fields: Fields = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined && !NOT_IN_RESPONSES.has(name) && !nominated?.has(name)) fields[name] = value;
  }
  if (status === 204) delete fields['content-length'];
  // Announce the actual length: an application in this process may have miscounted.
  else if (isUint8Array(body) && method !== 'HEAD' && status !== 304) fields['content-length'] = String(body.length);
  if (trailers === undefined) return { status, headers: fields, body };
  return { status, headers: fields, body, trailers: () => passedTrailers(trailers()) };
}

function passedTrailers(trailers: HeaderMap): HeaderMap {
  return Object.fromEntries(Object.entries(trailers).filter(([name]) => !NOT_IN_TRAILERS.has(name.toLowerCase())));
}
