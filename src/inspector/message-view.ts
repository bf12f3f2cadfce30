import type { Message } from '../index.ts';
import { jsonMembers } from '../util/json-text.ts';
import { isJsonType } from '../util/json-type.ts';
import type { PayloadView } from './api/apps.ts';
import { maskSecrets } from './mask.ts';
import type { PayloadData, PayloadPlace } from './payload.ts';

/** A message to show: the attributes of its CloudEvent, and its data. */
export interface MessageView {
  /** Without its data; empty for a raw payload. */
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly payload: PayloadView;
}

type ShownMessage = Pick<Message, 'data' | 'contentType' | 'raw' | 'topic'>;
type ViewPayload = (data: PayloadData, place: PayloadPlace) => PayloadView;

const NO_ATTRIBUTES: MessageView['attributes'] = Object.freeze({});

/** Takes a message apart. A message that is no CloudEvent is shown as a raw payload. */
export function messageView(message: ShownMessage, view: ViewPayload): MessageView {
  const { data, contentType, raw, topic } = message;
  const event = raw ? undefined : eventOf(data);
  const place: PayloadPlace = { kind: 'message', name: topic };
  if (event === undefined) return { attributes: NO_ATTRIBUTES, payload: view({ bytes: data, contentType }, place) };
  return { attributes: event.attributes, payload: view(dataOf(event), place) };
}

interface Event {
  /** All but its data, with the values of secrets masked. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** JSON text. */
  readonly data: string | undefined;
  /** Base64. */
  readonly bytes: unknown;
}

function eventOf(data: Uint8Array): Event | undefined {
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
  try {
    const { data: _data, data_base64: bytes, ...attributes } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const { value } = jsonMembers(text).findLast(({ key }) => key === 'data') ?? {};
    return { attributes: masked(attributes), data: value, bytes };
  } catch {
    return undefined;
  }
}

function masked(attributes: Event['attributes']): Event['attributes'] {
  const { text, isMasked } = maskSecrets(JSON.stringify(attributes));
  return isMasked ? (JSON.parse(text) as Event['attributes']) : attributes;
}

function dataOf({ attributes, data, bytes }: Event): PayloadData {
  const { datacontenttype } = attributes;
  const contentType = typeof datacontenttype === 'string' ? datacontenttype : undefined;
  if (typeof bytes === 'string') return { bytes: Buffer.from(bytes, 'base64'), contentType };
  if (data === undefined) return { bytes: Buffer.alloc(0), contentType };
  const isText = data.startsWith('"') && contentType !== undefined && !isJsonType(contentType);
  return isText ? { bytes: Buffer.from(JSON.parse(data) as string), contentType } : { json: data };
}
