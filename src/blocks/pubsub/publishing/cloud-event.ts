import { isUtf8 } from 'node:buffer';
import type { Trace } from '../../../components/pubsub.ts';
import { messageOf } from '../../../errors.ts';
import { asBuffer } from '../../../http/body.ts';
import { type HeaderMap, headerOf } from '../../../http/message.ts';
import { formatInstant, parseInstant } from '../../../util/duration.ts';
import { jsonMembers, kindOfJson, parseJsonBody } from '../../../util/json-text.ts';
import { shown } from '../../../util/shown.ts';
import { invalidEvent } from '../errors.ts';
import {
  type EncodedEvent,
  type EnvelopeAddress,
  type EnvelopeDefaults,
  type EventPayload,
  quote,
  withData,
} from './envelope.ts';

/**
 * CloudEvents that the caller makes: whole in JSON, or in binary mode with attributes in headers. Attributes that
 * CloudEvents 1.0 forbids are refused by name (CloudEvents 1.0, section 3).
 */

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+*-]+(?:\s*;.*)?$/;
const ABSOLUTE_URI = /^[A-Za-z][A-Za-z0-9+.-]*:\S*$/;

const FORBIDDEN: Readonly<Record<string, (value: string) => boolean>> = {
  specversion: (value) => value !== '1.0',
  time: (value) => parseInstant(value) === undefined,
  datacontenttype: (value) => !MEDIA_TYPE.test(value),
  dataschema: (value) => !ABSOLUTE_URI.test(value),
};
const EXPECTED: Readonly<Record<string, string>> = {
  specversion: '"1.0"',
  time: 'an RFC 3339 timestamp',
  datacontenttype: 'a media type',
  dataschema: 'an absolute URI',
};
const ATTRIBUTES = ['id', 'source', 'type', 'subject', ...Object.keys(FORBIDDEN)] as const;
const REQUIRED = ['specversion', 'type', 'source', 'id'] as const;

function checkAttribute(name: string, value: unknown, address: EnvelopeAddress): void {
  if (typeof value === 'string' && value !== '' && !FORBIDDEN[name]?.(value)) return;
  const expected = EXPECTED[name] ?? 'a string that is not empty';
  throw invalidEvent(address, `attribute ${name} is ${JSON.stringify(value)}: expected ${expected}`);
}

/** Completes the caller's own event. Members that stay keep their exact text. */
export function completeEvent(payload: EventPayload, defaults: EnvelopeDefaults): EncodedEvent {
  const { address } = payload;
  const { text, event } = parseEvent(payload.bytes, address);
  for (const name of ATTRIBUTES) {
    const value = event[name];
    if (value !== undefined && value !== null) checkAttribute(name, value, address);
  }
  checkBinaryData(event, address);
  const members = new Map<string, string>();
  for (const { key, value } of jsonMembers(text)) members.set(key, value);
  fillIn(members, payload, defaults);
  const data = Buffer.from(`{${[...members].map(([key, value]) => `${quote(key)}:${value}`).join(',')}}`);
  const id = JSON.parse(members.get('id') ?? '""') as string;
  const { expiration } = event as { readonly expiration?: unknown };
  return { id, data, trace: traceOfMembers(members), ...(typeof expiration === 'string' ? { expiration } : {}) };
}

function checkBinaryData(
  { data, data_base64: binary }: Readonly<Record<string, unknown>>,
  address: EnvelopeAddress,
): void {
  if (binary === undefined || binary === null) return;
  if (typeof binary !== 'string')
    throw invalidEvent(address, `data_base64 is ${kindOfJson(binary)}: expected a string in base64`);
  if (Buffer.from(binary, 'base64').toString('base64') !== binary)
    throw invalidEvent(address, `data_base64 is ${shown(binary)}: expected standard base64, with padding`);
  if (data !== undefined && data !== null)
    throw invalidEvent(address, 'the event has both data and data_base64: expected one of them');
}

function parseEvent(
  bytes: Uint8Array,
  address: EnvelopeAddress,
): { text: string; event: Readonly<Record<string, unknown>> } {
  const { text, value } = parseJsonBody(asBuffer(bytes), (problem, cause) =>
    invalidEvent(address, cause === undefined ? problem : `${problem}: ${messageOf(cause)}`, cause),
  );
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidEvent(address, `the body is ${kindOfJson(value)}: expected a JSON object`);
  }
  return { text, event: value as Readonly<Record<string, unknown>> };
}

function fillIn(members: Map<string, string>, payload: EventPayload, defaults: EnvelopeDefaults): void {
  const absent = (name: string): boolean => (members.get(name) ?? 'null') === 'null';
  if (absent('id')) members.set('id', quote(defaults.newId()));
  if (absent('source')) members.set('source', quote(defaults.source));
  if (absent('type')) members.set('type', quote(defaults.type));
  if (absent('specversion')) members.set('specversion', '"1.0"');
  if (absent('time')) members.set('time', `"${defaults.timestamp()}"`);
  members.set('topic', quote(payload.address.topic));
  members.set('pubsubname', quote(payload.address.pubsubName));
  const { trace } = payload;
  if (trace !== undefined && !members.has('traceparent')) {
    if (!members.has('traceid')) members.set('traceid', quote(trace.traceparent));
    members.set('traceparent', quote(trace.traceparent));
    if (trace.tracestate !== undefined && !members.has('tracestate'))
      members.set('tracestate', quote(trace.tracestate));
  }
  if (payload.expiresAt !== undefined) members.set('expiration', `"${formatInstant(payload.expiresAt)}"`);
}

/** The trace that an event names. Members that are not text are left to the caller. */
function traceOfMembers(members: ReadonlyMap<string, string>): Trace | undefined {
  const [traceparent, tracestate] = ['traceparent', 'tracestate'].map((name): unknown =>
    JSON.parse(members.get(name) ?? 'null'),
  );
  if (typeof traceparent !== 'string' || traceparent === '') return undefined;
  return typeof tracestate === 'string' && tracestate !== '' ? { traceparent, tracestate } : { traceparent };
}

/** The attributes of binary mode, by name. */
export type BinaryAttributes = ReadonlyMap<string, string>;

const HEADER = /^ce([_-])(.+)$/;
/** Attributes that callers cannot set, or that come from elsewhere. */
const NOT_TAKEN = new Set(['datacontenttype', 'topic', 'pubsubname', 'expiration']);

/**
 * Reads the attributes of CloudEvents binary mode from `ce_` headers (the API document's form) and `ce-` headers
 * (CloudEvents' HTTP binding, unquoted and percent-decoded: its section 3.1.3.2); `undefined` when none of the four required ones is there.
 *
 * @throws SidecarError `ERR_PUBSUB_CLOUD_EVENTS_SER` naming what is missing or forbidden.
 */
export function binaryAttributes(headers: HeaderMap, address: EnvelopeAddress): BinaryAttributes | undefined {
  if (!isBinaryMode(headers)) return undefined;
  const attributes = new Map<string, string>();
  for (const header of Object.keys(headers)) {
    const [, separator, name] = HEADER.exec(header) ?? [];
    if (name === undefined || NOT_TAKEN.has(name) || (separator === '-' && headers[`ce_${name}`] !== undefined))
      continue;
    const text = utf8Of(headerOf(headers, header) ?? '');
    attributes.set(name, separator === '-' ? percentDecoded(unquoted(text), header, address) : text);
  }
  const missing = REQUIRED.filter((name) => !attributes.has(name));
  if (missing.length > 0)
    throw invalidEvent(address, `missing headers ${missing.map((name) => `ce_${name}`).join(', ')}`);
  for (const [name, value] of attributes) checkBinaryAttribute(name, value, address);
  return attributes;
}

const REQUIRED_HEADERS: readonly string[] = REQUIRED.flatMap((name) => [`ce_${name}`, `ce-${name}`]);

/** A plain loop over prepared names: it runs for every publish. */
function isBinaryMode(headers: HeaderMap): boolean {
  for (const header of REQUIRED_HEADERS) if (headers[header] !== undefined) return true;
  return false;
}

/** Clients such as curl send UTF-8; Node reads the bytes of a header as Latin-1. */
function utf8Of(text: string): string {
  if (!/[\x80-\xff]/.test(text) || /[^\t\x20-\xff]/.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : text;
}

const QUOTED = /^"(?:[^"\\]|\\.)*"$/s;

/** A quoted string without its quotes and backslashes (RFC 9110, 5.6.4); any other text as it is. */
function unquoted(text: string): string {
  return QUOTED.test(text) ? text.slice(1, -1).replace(/\\(.)/gs, '$1') : text;
}

const ESCAPES = /(?:%[0-9a-f]{2})+/gi;

/** A `%` that begins no escape is itself: not every client escapes it. */
function percentDecoded(text: string, header: string, address: EnvelopeAddress): string {
  try {
    return text.replace(ESCAPES, decodeURIComponent);
  } catch (cause) {
    throw invalidEvent(
      address,
      `header ${header} is ${JSON.stringify(text)}: expected percent-escapes of UTF-8`,
      cause,
    );
  }
}

function checkBinaryAttribute(name: string, value: string, address: EnvelopeAddress): void {
  if (!/^[a-z0-9]+$/.test(name) || name === 'data') {
    throw invalidEvent(
      address,
      `attribute name ${JSON.stringify(name)}: expected lower-case letters and digits, not data`,
    );
  }
  if ((ATTRIBUTES as readonly string[]).includes(name)) checkAttribute(name, value, address);
}

/** Makes an event in binary mode: attributes from headers, data from the body. */
export function binaryEvent(
  payload: EventPayload,
  attributes: BinaryAttributes,
  defaults: EnvelopeDefaults,
): EncodedEvent {
  checkAttribute('datacontenttype', payload.contentType, payload.address);
  const members = new Map<string, string>();
  for (const [name, value] of attributes) members.set(name, quote(value));
  members.set('datacontenttype', quote(payload.contentType));
  fillIn(members, payload, defaults);
  const head = `{${[...members].map(([key, value]) => `${quote(key)}:${value}`).join(',')}`;
  const data = withData(head, payload.bytes, payload.contentType, defaults.takesText);
  return { id: attributes.get('id') ?? '', data, trace: traceOfMembers(members) };
}
