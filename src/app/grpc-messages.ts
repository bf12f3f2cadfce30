/**
 * The few messages of Dapr's `AppCallback.OnInvoke` in the protocol buffers encoding: fields of the wire types varint
 * (0) and length-delimited (2), which is all that they have.
 */

const VARINT = 0;
const FIXED_64 = 1;
const DELIMITED = 2;
const FIXED_32 = 5;

/** `dapr.proto.common.v1.InvokeRequest`. */
export interface InvokeRequest {
  /** Path at the application, without its leading slash. */
  readonly method: string;
  readonly data: Uint8Array;
  readonly contentType: string;
  /** The HTTP method. */
  readonly verb: string;
  readonly queryString: string;
}

/** `dapr.proto.common.v1.InvokeResponse`. */
export interface InvokeResponse {
  readonly data: Uint8Array;
  readonly contentType: string;
}

/** `HTTPExtension.Verb`; those that it does not name are `NONE`. */
const VERBS: readonly string[] = [
  'NONE',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'CONNECT',
  'OPTIONS',
  'TRACE',
  'PATCH',
];

const EMPTY = Buffer.alloc(0);

export function encodeInvokeRequest({ method, data, contentType, verb, queryString }: InvokeRequest): Buffer {
  const extension = [...varintField(1, Math.max(0, VERBS.indexOf(verb))), ...textField(2, queryString)];
  return Buffer.concat([
    ...textField(1, method),
    ...bytesField(2, Buffer.concat(bytesField(2, data))),
    ...textField(3, contentType),
    ...bytesField(4, Buffer.concat(extension)),
  ]);
}

/** @throws Error for bytes that are no such message */
export function decodeInvokeResponse(message: Uint8Array): InvokeResponse {
  let data: Uint8Array = EMPTY;
  let contentType = '';
  for (const [field, value] of delimitedFields(message)) {
    if (field === 1) data = anyValue(value);
    else if (field === 2) contentType = Buffer.from(value).toString();
  }
  return { data, contentType };
}

/** The bytes in a `google.protobuf.Any`, whatever their type. */
function anyValue(message: Uint8Array): Uint8Array {
  let bytes: Uint8Array = EMPTY;
  for (const [field, value] of delimitedFields(message)) if (field === 2) bytes = value;
  return bytes;
}

function textField(field: number, text: string): Buffer[] {
  return text === '' ? [] : bytesField(field, Buffer.from(text));
}

function bytesField(field: number, bytes: Uint8Array): Buffer[] {
  return [varint((field << 3) | DELIMITED), varint(bytes.length), bytes as Buffer];
}

function varintField(field: number, value: number): Buffer[] {
  return value === 0 ? [] : [varint((field << 3) | VARINT), varint(value)];
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** The length-delimited fields of a message, in order; the others are passed over. */
function* delimitedFields(message: Uint8Array): Generator<[field: number, value: Uint8Array]> {
  let at = 0;
  while (at < message.length) {
    const [tag, afterTag] = readVarint(message, at);
    const type = tag % 8;
    const [length, start] = lengthOf(message, type, afterTag);
    at = start + length;
    if (at > message.length) throw new Error('the message ends within a field');
    if (type === DELIMITED) yield [Math.floor(tag / 8), message.subarray(start, at)];
  }
}

/** How long the value of a field is, and where it begins. */
function lengthOf(message: Uint8Array, type: number, at: number): [length: number, start: number] {
  switch (type) {
    case VARINT:
      return [0, readVarint(message, at)[1]];
    case FIXED_64:
      return [8, at];
    case DELIMITED:
      return readVarint(message, at);
    case FIXED_32:
      return [4, at];
    default:
      throw new Error(`the message has a field of the unknown type ${type}`);
  }
}

/** At most ten bytes, as for 64 bits; what does not fit a number exactly can only be too long for us. */
function readVarint(message: Uint8Array, from: number): [value: number, end: number] {
  let value = 0;
  for (let index = 0; index < 10; index++) {
    const byte = message[from + index];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 128 ** index;
    if (byte < 0x80) return [value, from + index + 1];
  }
  throw new Error('the message ends within a number');
}
