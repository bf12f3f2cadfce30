import type { IncomingMessage } from 'node:http';
import { isUint8Array } from 'node:util/types';
import { type Body, EMPTY_BODY, type HeaderMap } from '../http/message.ts';

/** The results that a body-parsing middleware may leave on a request. */
export interface ParsedBody {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** A body and its matching header fields. */
export interface Content {
  readonly headers: HeaderMap;
  readonly body: Body;
}

/**
 * The body of a request, whether or not a middleware has read it: the untouched stream, else the raw bytes that were
 * kept (`rawBody`, or `body` as a Buffer), else the parsed value, serialised again.
 */
export function contentOf(req: IncomingMessage, parsed: ParsedBody): Content {
  const { headers } = req;
  if (!announcesBody(req)) return { headers, body: EMPTY_BODY };
  // Ended without a read: the body was empty. An aborted HTTP/2 request ends too.
  if (!req.readableDidRead) return { headers, body: req.readableEnded && !req.aborted ? EMPTY_BODY : req };
  let body: Uint8Array | undefined;
  try {
    body = bytesOf(parsed.rawBody) ?? bytesOf(parsed.body) ?? serialise(parsed.body, headers['content-type'] ?? '');
  } catch (error) {
    // Nested too deeply or not JSON: reading the body fails, as for any unreadable body.
    return { headers, body: unreadable(error) };
  }
  return body === undefined
    ? { headers, body: unreadable(alreadyRead()) }
    : { headers: headersFor(body, headers), body };
}

function announcesBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  if (length !== undefined) return length !== '0';
  return req.headers['transfer-encoding'] !== undefined || req.httpVersionMajor >= 2;
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (isUint8Array(value)) return value;
  return typeof value === 'string' ? Buffer.from(value) : undefined;
}

function serialise(value: unknown, contentType: string): Uint8Array | undefined {
  // The parts of a multipart body cannot be restored exactly.
  if (value === undefined || contentType.includes('multipart/')) return undefined;
  const isForm = contentType.includes('application/x-www-form-urlencoded') && typeof value === 'object';
  return Buffer.from(isForm ? formFields(value).join('&') : JSON.stringify(value));
}

/** Fields by name; arrays as repeated names, nested values as parsers of nested forms expect them: `a[b]=c`. */
function formFields(value: unknown, name = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((one: unknown) => formFields(one, name));
  if (typeof value !== 'object' || value === null)
    return [`${encodeURIComponent(name)}=${encodeURIComponent(String(value ?? ''))}`];
  return Object.entries(value).flatMap(([key, inner]) => formFields(inner, name === '' ? key : `${name}[${key}]`));
}

/** The parser has removed any encoding, and the length has changed. */
function headersFor(body: Uint8Array, headers: HeaderMap): HeaderMap {
  const { 'content-encoding': _encoding, 'transfer-encoding': _transfer, ...rest } = headers;
  return { ...rest, 'content-length': String(body.length) };
}

/** The refusal of a body whose bytes another reader has. */
export function alreadyRead(remedy = 'which kept it neither in req.rawBody nor in req.body'): Error {
  return new Error(`the request body was read by another middleware, ${remedy}`);
}

/** A body that fails when it is read. */
export async function* unreadable(error: unknown): AsyncGenerator<Uint8Array> {
  yield* [];
  throw error;
}
