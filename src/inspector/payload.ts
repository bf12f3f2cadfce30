import { isUtf8 } from 'node:buffer';
import { isUint8Array } from 'node:util/types';
import { asBuffer } from '../http/body.ts';
import { isJsonType } from '../util/json-type.ts';
import type { PayloadView } from './api/apps.ts';
import { isSecretName, maskSecrets } from './mask.ts';

/** Where a payload comes from. @public */
export interface PayloadPlace {
  /** The record that it belongs to. */
  readonly kind: 'message' | 'job' | 'workflow' | 'activity' | 'state' | 'actor' | 'reminder';
  /** The topic, the actor type, or the name of the job, workflow, activity, state store or reminder. */
  readonly name: string;
  /** The key of a value in a state store or of an actor. Absent: it is of another kind. */
  readonly key?: string;
}

/**
 * How the inspector shows payloads: `full`, `none`, or what a function makes of each: it gets JSON as a value, text as a
 * string, other data as bytes, and returns what to show instead; `undefined`, or an exception, hides the payload.
 *
 * @public
 */
export type PayloadOption = 'full' | 'none' | ((value: unknown, place: PayloadPlace) => unknown);

/** A payload to show: bytes, or JSON text. */
export type PayloadData =
  | { readonly bytes: Uint8Array; readonly contentType?: string | undefined }
  | { readonly json: string };

type ViewPayload = (data: PayloadData, place: PayloadPlace) => PayloadView;

/** Makes the views of payloads. */
export interface PayloadViews {
  /** The first 2 KiB of one among others. */
  readonly short: ViewPayload;
  /** The first 64 KiB of one that is shown alone, or recorded. */
  readonly long: ViewPayload;
}

const SHORT_BYTES = 2 * 1024;
const LONG_BYTES = 64 * 1024;

/** A payload before it is cut. */
type Content =
  | { readonly format: 'json' | 'text'; readonly text: string; readonly isMasked: boolean }
  | { readonly format: 'base64'; readonly bytes: Buffer; readonly isMasked: boolean }
  | { readonly format: 'hidden' };

const HIDDEN: Content = { format: 'hidden' };

/** In JSON and in forms, the values of secrets are masked, see `mask.ts`. */
export function payloadViews(option: PayloadOption): PayloadViews {
  return {
    short: (data, place) => viewOf(data, place, option, SHORT_BYTES),
    long: (data, place) => viewOf(data, place, option, LONG_BYTES),
  };
}

/** The view of a payload that is never shown, of so many bytes. */
export function hiddenView(bytes: number): PayloadView {
  return { bytes, ...cut(HIDDEN, 0) };
}

function viewOf(data: PayloadData, place: PayloadPlace, option: PayloadOption, limitBytes: number): PayloadView {
  const bytes = 'bytes' in data ? asBuffer(data.bytes) : Buffer.from(data.json);
  const contentType = 'bytes' in data ? data.contentType : 'application/json';
  const content = option === 'none' ? HIDDEN : shownContent(contentOf(bytes, contentType), place, option);
  return {
    ...(contentType === undefined ? undefined : { contentType }),
    bytes: bytes.length,
    ...cut(content, limitBytes),
  };
}

function contentOf(bytes: Buffer, contentType = ''): Content {
  if (!isUtf8(bytes) || bytes.includes(0)) return { format: 'base64', bytes, isMasked: false };
  const text = bytes.toString();
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return maskedForm(text);
  const isJson = (contentType === '' || isJsonType(contentType)) && isJsonText(text);
  // Masked in other text as well: it may be JSON under another type, or a part of JSON.
  return { format: isJson ? 'json' : 'text', ...maskSecrets(text) };
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function maskedForm(text: string): Content {
  let isMasked = false;
  const fields = text.split('&').map((field) => {
    const [name = ''] = field.split('=', 1);
    if (!isSecretName(decoded(name))) return field;
    isMasked = true;
    return `${name}=***`;
  });
  return { format: 'text', text: fields.join('&'), isMasked };
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** The content that the option shows. */
function shownContent(content: Content, place: PayloadPlace, option: Exclude<PayloadOption, 'none'>): Content {
  if (option === 'full' || content.format === 'hidden') return content;
  try {
    if (content.format === 'base64') return changed(content, content.bytes, option(Buffer.from(content.bytes), place));
    if (content.format === 'text') return changed(content, content.text, option(content.text, place));
    const value: unknown = JSON.parse(content.text);
    // Compared as text: the function may change the value that it gets.
    const before = JSON.stringify(value);
    const after: unknown = option(value, place);
    return JSON.stringify(after) === before ? content : changed(content, undefined, after);
  } catch {
    return HIDDEN;
  }
}

function changed(content: Content, before: unknown, after: unknown): Content {
  if (after === undefined) return HIDDEN;
  if (after === before) return content;
  if (isUint8Array(after)) {
    const bytes = asBuffer(after);
    return Buffer.isBuffer(before) && bytes.equals(before) ? content : { format: 'base64', bytes, isMasked: true };
  }
  const isText = typeof after === 'string' && content.format !== 'json';
  const { text } = maskSecrets(isText ? after : JSON.stringify(after));
  return { format: isText ? 'text' : 'json', text, isMasked: true };
}

function cut(content: Content, limitBytes: number): Omit<PayloadView, 'contentType' | 'bytes'> {
  if (content.format === 'hidden') return { format: 'hidden', value: '', isCut: false, isMasked: true };
  const { format, isMasked } = content;
  if (format === 'base64') {
    const { bytes } = content;
    // Whole groups of base64 only.
    const end = bytes.length <= limitBytes ? bytes.length : limitBytes - (limitBytes % 3);
    return { format, value: bytes.toString('base64', 0, end), isCut: end < bytes.length, isMasked };
  }
  const value = beginningOf(content.text, limitBytes);
  return { format, value, isCut: value.length < content.text.length, isMasked };
}

/** At most so many bytes of a text, in whole characters. */
function beginningOf(text: string, limitBytes: number): string {
  if (text.length * 3 <= limitBytes) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= limitBytes) return text;
  let end = limitBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
