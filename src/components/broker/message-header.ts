import { type Message, NO_METADATA } from '../pubsub.ts';
import { readOrigin, type StoredOrigin, storedOrigin } from '../stored-origin.ts';

/** The media type of a CloudEvent in JSON. */
export const CLOUD_EVENT_TYPE = 'application/cloudevents+json';

/**
 * The parts of a message that a broker does not carry, as one header in JSON. Daprd and other programs ignore it. The
 * names are short, because every message has them; their meaning never changes, since older messages must stay
 * readable.
 */
interface MessageHeader {
  /** `id`. */
  readonly i: string;
  /** `contentType`, unless it is that of a CloudEvent. */
  readonly c?: string;
  /** Whether it is `raw`. */
  readonly r?: 1;
  /** `expiresAt`. */
  readonly e?: number;
  /** `trace.traceparent`. */
  readonly t?: string;
  /** `trace.tracestate`. */
  readonly s?: string;
  /** `deadLetter`. */
  readonly d?: StoredOrigin;
  /** `metadata`, where the broker does not carry it in a form of its own. */
  readonly m?: Message['metadata'];
}

/** The contents of a header. */
export type HeaderContent = Omit<Message, 'topic' | 'data'>;

/** Encodes the header. It is ASCII without line breaks. */
export function encodeHeader(message: Message, withMetadata: boolean): string {
  const { id, contentType, raw, expiresAt, trace, deadLetter, metadata } = message;
  const header: MessageHeader = {
    i: id,
    ...(contentType === CLOUD_EVENT_TYPE ? undefined : { c: contentType }),
    ...(raw ? { r: 1 } : undefined),
    ...(expiresAt === undefined ? undefined : { e: expiresAt }),
    ...(trace === undefined ? undefined : { t: trace.traceparent }),
    ...(trace?.tracestate === undefined ? undefined : { s: trace.tracestate }),
    ...(deadLetter === undefined ? undefined : { d: storedOrigin(deadLetter) }),
    ...(withMetadata && metadata !== NO_METADATA ? { m: metadata } : undefined),
  };
  return escapeNonAscii(JSON.stringify(header));
}

/** Escapes what is not ASCII in JSON text: headers of several brokers are ASCII. */
function escapeNonAscii(json: string): string {
  // The range includes DEL, which JSON.stringify leaves as it is.
  return json.replace(/[\u007f-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Parses a header; `undefined` if it is not one of ours. */
export function parseHeader(text: string): HeaderContent | undefined {
  const header = parseJson(text) as Partial<MessageHeader> | undefined;
  if (typeof header !== 'object' || header === null || typeof header.i !== 'string') return undefined;
  const { i, c, r, e, t, s, d, m } = header;
  const deadLetter = readOrigin(d);
  return {
    id: i,
    contentType: typeof c === 'string' ? c : CLOUD_EVENT_TYPE,
    raw: r === 1,
    metadata: m === undefined ? NO_METADATA : textsOf(m),
    ...(typeof e === 'number' ? { expiresAt: e } : undefined),
    ...(typeof t === 'string'
      ? { trace: { traceparent: t, ...(typeof s === 'string' ? { tracestate: s } : undefined) } }
      : undefined),
    ...(deadLetter === undefined ? undefined : { deadLetter }),
  };
}

/** The members of an object that are texts. The result has no prototype, so any name is safe. */
export function textsOf(object: unknown): Readonly<Record<string, string>> {
  if (typeof object !== 'object' || object === null) return NO_METADATA;
  const entries = Object.entries(object).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  if (entries.length === 0) return NO_METADATA;
  const texts = Object.create(null) as Record<string, string>;
  for (const [name, value] of entries) texts[name] = value;
  return texts;
}

/** Parses JSON; `undefined` if the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
