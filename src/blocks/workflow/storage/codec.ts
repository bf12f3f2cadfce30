import { StateError } from '../../../state/errors.ts';
import { readValue } from '../../../state/values.ts';
import { isAction, kindOf, kindOfCode, type StoredEvent } from '../model/event-table.ts';
import type { HistoryEvent, IncomingEvent } from '../model/events.ts';
import type { Payload } from '../model/payload.ts';

/*
 * A stored value is a header in JSON without line ends, a line end, and the payloads one behind the other. In the
 * header stand their lengths: so no payload is escaped, quoted or parsed on its way through.
 */
const FORMAT = 1;
const NO_PAYLOAD = -1;

/** Encodes a header and its payloads. */
export function encodeText(header: string, payloads: string): Uint8Array {
  // A format below 128 is one character and one byte.
  return Buffer.from(`${String.fromCharCode(FORMAT)}${header}\n${payloads}`);
}

/** Decodes a stored value from its header and payloads. An error of `read` means that the value is damaged. */
export function decodeText<T>(
  key: string,
  value: Uint8Array,
  read: (header: unknown, payloads: PayloadReader) => T,
): T {
  return readValue(key, value, {
    [FORMAT]: (payload) => {
      const text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString();
      const end = text.indexOf('\n');
      if (end < 0) throw new Error('it has no header');
      return read(JSON.parse(text.slice(0, end)), new PayloadReader(text, end + 1));
    },
  });
}

/** Reads consecutive payloads from a text. */
export class PayloadReader {
  readonly #text: string;
  #at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  take(length: number): Payload {
    if (length === NO_PAYLOAD) return undefined;
    const from = this.#at;
    this.#at += length;
    if (!(this.#at <= this.#text.length)) throw new Error(`${length} characters were expected at ${from}`);
    return this.#text.slice(from, this.#at);
  }
}

/** The length of a payload, as stored in a header. */
export function lengthOf(payload: Payload): number {
  return payload === undefined ? NO_PAYLOAD : payload.length;
}

/** The payload of an event. */
export function payloadOf(event: HistoryEvent): Payload {
  return kindOf(event).payloadOf?.(event);
}

/** The approximate size of an event, in characters. */
export function sizeOf(event: HistoryEvent): number {
  if (!('failure' in event)) return payloadOf(event)?.length ?? 0;
  const { message, stackTrace = '' } = event.failure;
  return message.length + stackTrace.length;
}

/** Part of a turn: a turn that is too large for one value is spread over several. */
export interface Chunk {
  readonly at: number;
  /** Whether the next chunk belongs to the same turn. */
  readonly isContinued: boolean;
  readonly events: readonly HistoryEvent[];
  /** The number of events of the history, including these. */
  readonly total: number;
}

export function encodeChunk({ at, isContinued, events, total }: Chunk): Uint8Array {
  let tuples = '';
  let payloads = '';
  for (const event of events) {
    const payload = payloadOf(event);
    tuples += `${tuples === '' ? '' : ','}${storedText(event, payload)}`;
    if (payload !== undefined) payloads += payload;
  }
  return encodeText(`[${at},${isContinued ? 1 : 0},${total},[${tuples}]]`, payloads);
}

function storedText(event: HistoryEvent, payload: Payload): string {
  const kind = kindOf(event);
  const length = kind.payloadOf === undefined ? '' : `,${lengthOf(payload)}`;
  return `["${kind.code}"${kind.write(event)}${length}]`;
}

export function decodeChunk(key: string, value: Uint8Array): Chunk {
  return decodeText(key, value, (header, payloads) => {
    const [at, isContinued, total, stored] = header as [number, number, number, StoredEvent[]];
    return { at, isContinued: isContinued === 1, total, events: stored.map((event) => eventOf(key, event, payloads)) };
  });
}

function eventOf(key: string, stored: StoredEvent, payloads: PayloadReader): HistoryEvent {
  const [code] = stored;
  const kind = kindOfCode(code);
  if (kind === undefined)
    throw new StateError('newer-format', `The value of ${JSON.stringify(key)} has the event ${JSON.stringify(code)}.`);
  const length = kind.payloadOf === undefined ? NO_PAYLOAD : Number(stored[stored.length - 1]);
  return kind.read(stored, payloads.take(length));
}

/** A message in the inbox of an instance. */
export interface InboxMessage {
  /** Absent if the message only hints that the instance has work. */
  readonly event: IncomingEvent | undefined;
  /** The run that the message is for; empty for the current run. */
  readonly executionId: string;
  /** The parent whose end it tells: it is for a child of that parent only. Earlier releases write none. */
  readonly parentId?: string | undefined;
}

export function encodeMessage({ event, executionId, parentId }: InboxMessage): Uint8Array {
  const payload = event && payloadOf(event);
  const tuple = event === undefined ? 'null' : storedText(event, payload);
  const parent = parentId === undefined ? '' : `,${JSON.stringify(parentId)}`;
  return encodeText(`[${JSON.stringify(executionId)},${tuple}${parent}]`, payload ?? '');
}

export function decodeMessage(key: string, value: Uint8Array): InboxMessage {
  return decodeText(key, value, (header, payloads) => {
    const [executionId, tuple, parentId] = header as [string, StoredEvent | null, string?];
    if (tuple === null) return { event: undefined, executionId };
    const event = eventOf(key, tuple, payloads);
    if (isAction(event)) throw new Error('a message was expected, actual is an action');
    return { event, executionId, parentId };
  });
}
