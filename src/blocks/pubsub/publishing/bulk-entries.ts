import { messageOf, type SidecarError } from '../../../errors.ts';
import { asBuffer } from '../../../http/body.ts';
import { jsonElements, jsonMembers, kindOfJson, parseJsonBody } from '../../../util/json-text.ts';
import type { Wire } from '../../../wire.ts';
import { type Metadata, metadataOfJson } from '../../request-metadata.ts';
import { invalidEntries } from '../errors.ts';
import { contentKind } from './content-type.ts';
import type { EnvelopeAddress } from './envelope.ts';
import { publishForm } from './publish-metadata.ts';

/** One entry of a bulk publish, checked. */
export interface BulkEntry {
  readonly entryId: string;
  readonly bytes: Uint8Array;
  readonly contentType: string;
  /** The entry's own metadata. */
  readonly metadata: Metadata;
}

type Refuse = (problem: string, cause?: unknown) => SidecarError;

/**
 * Reads the body of a bulk publish; JSON events keep their text.
 *
 * @throws SidecarError `ERR_PUBSUB_EVENTS_SER` naming the entry and what was expected.
 */
export function parseBulkEntries(body: Uint8Array, address: EnvelopeAddress, wire: Wire): BulkEntry[] {
  const refuse: Refuse = (problem, cause) => invalidEntries(address, problem, cause);
  const text = parseArray(asBuffer(body), refuse);
  const seen = new Set<string>();
  return jsonElements(text).map((element, index) => {
    const entry = parseEntry(element, wire, (problem, cause) => refuse(`entry ${index}: ${problem}`, cause));
    if (seen.has(entry.entryId)) throw refuse(`entry ${index}: entryId ${JSON.stringify(entry.entryId)} is repeated`);
    seen.add(entry.entryId);
    return entry;
  });
}

function parseArray(body: Buffer, refuse: Refuse): string {
  const { text, value } = parseJsonBody(body, (problem, cause) =>
    refuse(cause === undefined ? problem : `${problem}: ${messageOf(cause)}`, cause),
  );
  if (!Array.isArray(value)) throw refuse(`the body is ${kindOfJson(value)}: expected an array of entries`);
  return text;
}

function parseEntry(element: string, wire: Wire, refuse: Refuse): BulkEntry {
  if (!element.startsWith('{')) throw refuse(`is ${kindOfJson(JSON.parse(element))}: expected an object`);
  const members = new Map<string, string>();
  for (const { key, value } of jsonMembers(element)) members.set(key.toLowerCase(), value);
  const entryId = parseString('entryId', members.get('entryid'), refuse);
  if (!entryId) throw refuse('entryId is missing or empty: expected a string that is unique in the request');
  const event = members.get('event');
  if (event === undefined) throw refuse(`event of ${JSON.stringify(entryId)} is missing`);
  const isText = event.startsWith('"');
  const contentType =
    parseString('contentType', members.get('contenttype'), refuse) ?? (isText ? 'text/plain' : 'application/json');
  const metadata = metadataOfJson(members.get('metadata'), publishForm(wire), refuse);
  return { entryId, contentType, metadata, bytes: eventBytes(event, contentType, refuse) };
}

function parseString(name: string, text: string | undefined, refuse: Refuse): string | undefined {
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw refuse(`${name} is ${kindOfJson(value)}: expected a string`);
  return value;
}

/** Decodes the `event` of an entry by its content type. */
function eventBytes(event: string, contentType: string, refuse: Refuse): Uint8Array {
  const kind = contentKind(contentType);
  if (kind === 'json') return Buffer.from(event);
  if (kind === 'event') {
    if (!event.startsWith('{')) throw mismatch(event, contentType, 'an object', refuse);
    return Buffer.from(event);
  }
  if (!event.startsWith('"')) throw mismatch(event, contentType, 'a string', refuse);
  const text = JSON.parse(event) as string;
  return kind === 'binary' && isOctetStream(contentType) ? decodeBase64(text, contentType, refuse) : Buffer.from(text);
}

function isOctetStream(contentType: string): boolean {
  return /^\s*application\/octet-stream\s*(?:;|$)/i.test(contentType);
}

function decodeBase64(text: string, contentType: string, refuse: Refuse): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw mismatch(JSON.stringify(text), contentType, 'standard base64', refuse);
  return bytes;
}

function mismatch(event: string, contentType: string, expected: string, refuse: Refuse): SidecarError {
  const shown = event.length > 40 ? `${event.slice(0, 40)}…` : event;
  return refuse(
    `mismatch between contentType and event: event ${shown} with contentType ${contentType}, expected ${expected}`,
  );
}
