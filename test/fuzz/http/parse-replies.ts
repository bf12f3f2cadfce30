import type { Reply } from './judge.ts';

const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) [\t\x20-\x7e\x80-\xff]*$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t\x20-\x7e\x80-\xff]*)$/;
const CHUNK_SIZE = /^[0-9a-fA-F]{1,8}$/;
const HEAD_END = '\r\n\r\n';

/** The answers on a connection. */
export interface Replies {
  readonly replies: readonly Reply[];
  /** Bytes after the last whole answer. */
  readonly rest: Buffer;
}

/**
 * Splits what came on a closed connection into its answers. `methods` are those of the requests, as far as they are
 * known: an answer to HEAD has no body.
 *
 * @throws Error for what is no HTTP
 */
export function parseReplies(bytes: Buffer, methods: readonly string[]): Replies {
  const replies: Reply[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf(HEAD_END);
    if (end === -1) break;
    const head = parseHead(rest.toString('latin1', 0, end));
    const after = rest.subarray(end + HEAD_END.length);
    const body = isBodiless(head.status, methods[replies.length])
      ? { body: Buffer.alloc(0), rest: after }
      : readBody(head, after);
    if (body === undefined) break;
    rest = body.rest;
    // A provisional answer comes before the answer.
    if (head.status >= 200) replies.push({ ...head, body: body.body });
  }
  return { replies, rest };
}

interface Head {
  readonly status: number;
  readonly headers: Record<string, string>;
}

function parseHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const status = STATUS_LINE.exec(first);
  if (status === null) throw new Error(`${JSON.stringify(first)} is no status line`);
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const line of lines) {
    const [, name, value] = FIELD.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`${JSON.stringify(line)} is no header field`);
    headers[name.toLowerCase()] = value;
  }
  return { status: Number(status[1]), headers };
}

function isBodiless(status: number, method: string | undefined): boolean {
  return status < 200 || status === 204 || status === 304 || method === 'HEAD';
}

interface Part {
  readonly body: Buffer;
  readonly rest: Buffer;
}

/** `undefined` when the body has not come to its end. */
function readBody({ headers }: Head, bytes: Buffer): Part | undefined {
  if (headers['transfer-encoding'] !== undefined) return readChunks(bytes);
  const announced = headers['content-length'];
  if (announced === undefined) return { body: bytes, rest: Buffer.alloc(0) };
  if (!/^\d+$/.test(announced)) throw new Error(`content-length is ${announced}`);
  const length = Number(announced);
  return bytes.length < length ? undefined : { body: bytes.subarray(0, length), rest: bytes.subarray(length) };
}

function readChunks(bytes: Buffer): Part | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = bytes.toString('latin1', at, lineEnd);
    if (!CHUNK_SIZE.test(size)) throw new Error(`${JSON.stringify(size)} is no size of a chunk`);
    const from = lineEnd + 2;
    const to = from + Number.parseInt(size, 16);
    if (bytes.length < to + 2) return undefined;
    if (bytes.toString('latin1', to, to + 2) !== '\r\n') throw new Error('a chunk has another length than it says');
    chunks.push(bytes.subarray(from, to));
    at = to + 2;
    if (from === to) return { body: Buffer.concat(chunks), rest: bytes.subarray(at) };
  }
}
