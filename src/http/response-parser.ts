import { HEAD_LIMIT_BYTES, headTooLarge } from './head-limit.ts';
import type { HeaderMap } from './message.ts';

/** The longest line of a chunk's size, and the longest trailer, in bytes. */
const MAX_LINE_BYTES = 16 * 1024;
const LINE_END = '\r\n';
const HEAD_END = '\r\n\r\n';
const NOTHING: Buffer = Buffer.alloc(0);
const NO_FIELDS: HeaderMap = Object.freeze({});

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const LENGTH = /^\d{1,15}$/;
const CHUNK_SIZE = /^([\da-fA-F]{1,12})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const KEEP_ALIVE_SECONDS = /(?:^|[,;\s])timeout=(\d{1,6})/i;

/** How the end of a body is known: its length in bytes, chunks, or the end of the connection. */
type Framing = number | 'chunked' | 'until-close';

/** The head of a response. */
export interface ResponseHead {
  readonly status: number;
  /** By lower-case name, a character for each byte; a repeated field is an array. */
  readonly headers: HeaderMap;
  /** Whether the connection stays open after the response. */
  readonly keepsOpen: boolean;
  /** How long the server says that it keeps an idle connection, in milliseconds. */
  readonly idleMs: number | undefined;
  readonly framing: Framing;
}

/** Takes a response in its parts. */
export interface ResponseSink {
  /** The final response's head. `hasBody` is false if there is no body, whatever the head says. */
  onHead(head: ResponseHead, hasBody: boolean): void;
  onData(chunk: Buffer): void;
  onEnd(trailers: HeaderMap): void;
}

/** Parses heads. An application repeats its head, but for the date, so the last one is kept. */
export class ResponseHeads {
  #text = '';
  #head: ResponseHead | undefined;

  /** @throws Error when it is not a head of HTTP/1.1. */
  parse(text: string): ResponseHead {
    if (this.#head === undefined || text !== this.#text) {
      const head = parseHead(text);
      // The fields may reach the code of users, who may change them: a copy does not copy arrays.
      if (Object.values(head.headers).some((value) => typeof value !== 'string')) return head;
      this.#text = text;
      this.#head = head;
    }
    return { ...this.#head, headers: { ...this.#head.headers } };
  }
}

/**
 * Parses the responses of a connection, one after the other. As strict as RFC 9112 allows: whatever two parsers might
 * understand differently is an error.
 */
export class ResponseParser {
  readonly #heads: ResponseHeads;
  readonly #headLimitBytes: number;
  #state: 'head' | 'data' | 'size' | 'data-end' | 'trailers' | 'until-close' | 'done' = 'done';
  #sink: ResponseSink | undefined;
  #isHead = false;
  /** Unread bytes of a head or a line. */
  #held: Buffer | undefined;
  /** Bytes left of the body, or of the chunk. */
  #left = 0;
  #isChunked = false;
  #trailers = '';

  constructor(heads: ResponseHeads, headLimitBytes: number = HEAD_LIMIT_BYTES) {
    this.#heads = heads;
    this.#headLimitBytes = headLimitBytes;
  }

  /** Expects the response to a request; `isHead` for the method HEAD. */
  expect(sink: ResponseSink, isHead: boolean): void {
    this.#sink = sink;
    this.#isHead = isHead;
    this.#state = 'head';
  }

  /** Whether no response is expected, or the expected one has ended. */
  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Reads bytes. @throws Error when they are not what was expected. */
  read(chunk: Buffer): void {
    let rest = chunk;
    if (this.#held !== undefined) {
      rest = Buffer.concat([this.#held, chunk]);
      this.#held = undefined;
    }
    while (rest.length > 0) rest = this.#step(rest);
  }

  /** The connection has ended. @throws Error when the response is not complete. */
  end(): void {
    if (this.#state === 'until-close') this.#end(NO_FIELDS);
    else if (this.#state !== 'done') throw malformed('the connection ended in the middle');
  }

  /** Reads a part; returns what is left. */
  #step(bytes: Buffer): Buffer {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes);
      case 'data':
        return this.#readData(bytes);
      case 'until-close':
        this.#sink?.onData(bytes);
        return NOTHING;
      case 'done':
        throw malformed('bytes follow its end');
      default:
        return this.#readLine(bytes);
    }
  }

  #readHead(bytes: Buffer): Buffer {
    const end = bytes.indexOf(HEAD_END);
    if (end === -1) return this.#hold(bytes);
    if (end > this.#headLimitBytes) throw headTooLarge(this.#headLimitBytes);
    const head = this.#heads.parse(bytes.toString('latin1', 0, end));
    if (head.status >= 200) this.#begin(head);
    else if (head.status === 101) throw malformed('it switches protocols');
    return bytes.subarray(end + HEAD_END.length);
  }

  #begin(head: ResponseHead): void {
    const { status, framing } = head;
    const hasBody = !this.#isHead && status !== 204 && status !== 304 && framing !== 0;
    this.#sink?.onHead(head, hasBody);
    if (!hasBody) return this.#end(NO_FIELDS);
    this.#isChunked = framing === 'chunked';
    this.#left = typeof framing === 'number' ? framing : 0;
    this.#state = typeof framing === 'number' ? 'data' : framing === 'chunked' ? 'size' : 'until-close';
  }

  #readData(bytes: Buffer): Buffer {
    const chunk = bytes.length <= this.#left ? bytes : bytes.subarray(0, this.#left);
    this.#left -= chunk.length;
    this.#sink?.onData(chunk);
    if (this.#left === 0 && this.#isChunked) this.#state = 'data-end';
    else if (this.#left === 0) this.#end(NO_FIELDS);
    return bytes.subarray(chunk.length);
  }

  #readLine(bytes: Buffer): Buffer {
    const end = bytes.indexOf(LINE_END);
    if (end === -1) return this.#hold(bytes);
    const line = bytes.toString('latin1', 0, end);
    if (this.#state === 'size') this.#readSize(line);
    else if (this.#state === 'trailers') this.#readTrailer(line);
    else if (line === '') this.#state = 'size';
    else throw malformed('a chunk is longer than its size');
    return bytes.subarray(end + LINE_END.length);
  }

  #readSize(line: string): void {
    const size = line.length <= MAX_LINE_BYTES ? CHUNK_SIZE.exec(line)?.[1] : undefined;
    if (size === undefined) throw malformed('the size of a chunk cannot be read');
    this.#left = Number.parseInt(size, 16);
    this.#trailers = '';
    this.#state = this.#left === 0 ? 'trailers' : 'data';
  }

  #readTrailer(line: string): void {
    if (line === '') return this.#end(this.#trailers === '' ? NO_FIELDS : parseFields(this.#trailers));
    this.#trailers += `${LINE_END}${line}`;
    if (this.#trailers.length > MAX_LINE_BYTES) throw malformed(`its trailer has more than ${MAX_LINE_BYTES} bytes`);
  }

  #hold(bytes: Buffer): Buffer {
    if (this.#state === 'head') {
      if (bytes.length > this.#headLimitBytes) throw headTooLarge(this.#headLimitBytes);
    } else if (bytes.length > MAX_LINE_BYTES) throw malformed(`a line has more than ${MAX_LINE_BYTES} bytes`);
    this.#held = bytes;
    return NOTHING;
  }

  #end(trailers: HeaderMap): void {
    this.#state = 'done';
    this.#sink?.onEnd(trailers);
    this.#sink = undefined;
  }
}

function malformed(problem: string): Error {
  return new Error(`the response is not valid HTTP/1.1: ${problem}`);
}

function parseHead(text: string): ResponseHead {
  const lineEnd = text.indexOf(LINE_END);
  const match = STATUS_LINE.exec(lineEnd === -1 ? text : text.slice(0, lineEnd));
  if (match === null) throw malformed('its first line cannot be read');
  const headers = lineEnd === -1 ? {} : parseFields(text.slice(lineEnd));
  const connection = textOf(headers['connection']).toLowerCase();
  const keepsOpen = match[1] === '1' ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection);
  const seconds = KEEP_ALIVE_SECONDS.exec(textOf(headers['keep-alive']))?.[1];
  return {
    status: Number(match[2]),
    headers,
    keepsOpen,
    idleMs: seconds === undefined ? undefined : Number(seconds) * 1_000,
    framing: framingOf(headers),
  };
}

/** Each field after a line end. */
function parseFields(text: string): HeaderMap {
  const fields: Record<string, string | string[]> = {};
  for (const line of text.slice(LINE_END.length).split(LINE_END)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = withoutBlanks(line.slice(colon + 1));
    if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value)) throw malformed('a header field cannot be read');
    const before = Object.hasOwn(fields, name) ? fields[name] : undefined;
    fields[name] = before === undefined ? value : [before, value].flat();
  }
  return fields;
}

/** Without spaces and tabs at its ends. `trim` would also remove bytes of UTF-8, which the text has as characters. */
function withoutBlanks(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09;
}

function framingOf(headers: HeaderMap): Framing {
  const coding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (coding !== undefined && length !== undefined) throw malformed('it has both a length and a transfer coding');
  if (coding !== undefined) return /(?:^|[,\s])chunked\s*$/i.test(textOf(coding)) ? 'chunked' : 'until-close';
  if (length === undefined) return 'until-close';
  if (typeof length !== 'string' || !LENGTH.test(length)) throw malformed('its length cannot be read');
  return Number(length);
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(', ');
}
