import { isUtf8 } from 'node:buffer';
import type { Message } from '../../index.ts';
import { isJsonType } from '../../util/json-type.ts';
import { maskSecrets } from '../mask.ts';
import { type MessageView, messageView } from '../message-view.ts';
import { type PayloadData, type PayloadOption, type PayloadViews, payloadViews } from '../payload.ts';

/** The most of one message that is kept. */
const LIMIT_BYTES = 64 * 1024;
/** Ends the attributes of most events: their data are the last member. */
const DATA = /,\s*"data(_base64)?"\s*:\s*/;

/** Text that JSON need not write otherwise. */
const PLAIN = /^[\w .,:;@+-]*$/;
/** Where JSON has written it otherwise all the same, or the data are encoded. */
const WRITTEN_OTHERWISE = /\\u|"data_base64"/;

/** The kept part of a message's data. */
export interface KeptPayload {
  /** The memory that it takes. */
  readonly bytes: number;
  /** As it is shown. */
  view(): MessageView;
  /** Whether a text in lower case is a part of the data as they are shown. */
  includes(text: string): boolean;
}

/** Keeps copies of payloads, with secrets masked. */
export class KeptPayloads {
  readonly #views: PayloadViews;
  readonly #option: PayloadOption;

  constructor(option: PayloadOption) {
    this.#option = option;
    this.#views = payloadViews(option);
  }

  /** Masks and copies. To cut a part out later costs nothing now: it takes some 3 µs for a message of 300 bytes. */
  keep(message: Message): KeptPayload {
    if (this.#option !== 'full') return new ViewedPayload(messageView(message, this.#views.long));
    const { data, contentType, raw, topic } = message;
    const isCut = data.length > LIMIT_BYTES;
    const kept = maskedCopy(isCut ? data.subarray(0, wholeCharacters(data)) : data);
    return new CopiedPayload({ data: kept.data, contentType, raw, topic }, this.#views, {
      isMasked: kept.isMasked,
      cutFrom: isCut ? data.length : undefined,
    });
  }
}

/** The end of the last whole character of UTF-8 within the limit. */
function wholeCharacters(data: Uint8Array): number {
  let end = LIMIT_BYTES;
  while (end > LIMIT_BYTES - 4 && ((data[end] ?? 0) & 0xc0) === 0x80) end--;
  return end;
}

/** A copy of its own: a part of a larger buffer would keep all of that. */
function maskedCopy(data: Uint8Array): { readonly data: Uint8Array; readonly isMasked: boolean } {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const { text, isMasked } = maskSecrets(bytes.toString('latin1'));
  // As Latin-1, every byte is a character: what is not masked stays as it is.
  return {
    data: isMasked ? Uint8Array.from(Buffer.from(text, 'latin1')) : Uint8Array.prototype.slice.call(data),
    isMasked,
  };
}

/** The part that was shown when it was recorded. */
class ViewedPayload implements KeptPayload {
  readonly bytes: number;
  readonly #view: MessageView;

  constructor(view: MessageView) {
    this.#view = view;
    this.bytes = view.payload.value.length + JSON.stringify(view.attributes).length;
  }

  view(): MessageView {
    return this.#view;
  }

  includes(text: string): boolean {
    return shows(this.#view, text);
  }
}

function shows({ payload }: MessageView, text: string): boolean {
  return payload.value.toLowerCase().includes(text);
}

interface Change {
  readonly isMasked: boolean;
  /** The former length of what is cut. */
  readonly cutFrom: number | undefined;
}

type Copy = Pick<Message, 'data' | 'contentType' | 'raw' | 'topic'>;

/** A copy of the message. */
class CopiedPayload implements KeptPayload {
  readonly #copy: Copy;
  readonly #views: PayloadViews;
  readonly #change: Change;

  constructor(copy: Copy, views: PayloadViews, change: Change) {
    this.#copy = copy;
    this.#views = views;
    this.#change = change;
  }

  get bytes(): number {
    return this.#copy.data.length;
  }

  view(): MessageView {
    const { isMasked, cutFrom } = this.#change;
    const { attributes, payload } =
      cutFrom === undefined ? messageView(this.#copy, this.#views.long) : cutView(this.#copy, this.#views, cutFrom);
    return { attributes, payload: isMasked ? { ...payload, isMasked } : payload };
  }

  /** Looks at the copy first, if the text would be in there as it is shown: to make the view takes 20 times as long. */
  includes(text: string): boolean {
    const { data, raw } = this.#copy;
    if (!raw && PLAIN.test(text)) {
      const kept = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1').toLowerCase();
      if (!kept.includes(text) && !WRITTEN_OTHERWISE.test(kept)) return false;
    }
    return shows(this.view(), text);
  }
}

/** The beginning of a message that was cut: of an event, the attributes as far as they come before its data. */
function cutView(copy: Copy, views: PayloadViews, bytes: number): MessageView {
  const { data, contentType, raw, topic } = copy;
  const cut = (start: PayloadData): MessageView['payload'] => ({
    ...views.long(start, { kind: 'message', name: topic }),
    bytes,
    isCut: true,
  });
  if (raw) return { attributes: {}, payload: cut({ bytes: data, contentType }) };
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1');
  const found = DATA.exec(text);
  const [start = '', encoding] = found ?? [];
  const at = found?.index ?? 0;
  try {
    const attributes = attributesIn(text.slice(0, at));
    return { attributes, payload: cut(dataBeginning(text.slice(at + start.length), encoding, attributes)) };
  } catch {
    // The attributes are too long, or not before the data: what is encoded in there could not be masked.
    return { attributes: {}, payload: { ...cut({ bytes: data, contentType }), ...HIDDEN } };
  }
}

const HIDDEN = { format: 'hidden', value: '', isMasked: true } as const;

/** The beginning of the data as they are, so that secrets in them are found; `text` is Latin-1. */
function dataBeginning(text: string, encoding: string | undefined, attributes: MessageView['attributes']): PayloadData {
  const { datacontenttype } = attributes;
  const contentType = typeof datacontenttype === 'string' ? datacontenttype : undefined;
  if (encoding !== undefined)
    return { bytes: withoutBroken(Buffer.from(contentOfString(text), 'base64')), contentType };
  const isText = text.startsWith('"') && contentType !== undefined && !isJsonType(contentType);
  const json = Buffer.from(isText ? `"${contentOfString(text)}"` : text, 'latin1');
  return { bytes: isText ? Buffer.from(JSON.parse(json.toString()) as string) : json, contentType };
}

/** The text of a string between its quotes, up to its end or the last character that is complete. */
function contentOfString(text: string): string {
  return /^"((?:[^"\\]|\\u[\da-f]{4}|\\[^u])*)/i.exec(text)?.[1] ?? '';
}

/** Without the beginning of a character at their end, by which text would count as other data. */
function withoutBroken(bytes: Buffer): Buffer {
  const broken = [0, 1, 2, 3].find((cut) => isUtf8(bytes.subarray(0, bytes.length - cut)));
  return bytes.subarray(0, bytes.length - (broken ?? 0));
}

/** @throws SyntaxError if the text is not all attributes. */
function attributesIn(beginning: string): MessageView['attributes'] {
  return JSON.parse(`${Buffer.from(beginning, 'latin1').toString()}}`) as MessageView['attributes'];
}
