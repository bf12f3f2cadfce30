import { isUint8Array } from 'node:util/types';
import type { HeaderMap, SidecarRequest } from './message.ts';
import { requestTarget } from './message.ts';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const TARGET = /^\/[\x21-\x7e\x80-\xff]*$/;
/** Fields that change the connection or the framing, or ask for an answer in between. */
const SPECIAL = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'expect', 'trailer', 'te']);
/** Methods whose requests announce a body even if it is empty. */
const WITH_LENGTH = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH']);
/** Bodies up to this length are copied behind the head: one write costs less than two. */
const MAX_COPIED_BYTES = 16 * 1024;

/** A request on the wire: in one part if it is small. */
export type RequestBytes = readonly [head: Buffer, body?: Uint8Array];

/** The bytes of a plain request; `undefined` if its body is a stream, or if it has anything unusual or invalid. */
export function requestBytes(request: SidecarRequest, host: string): RequestBytes | undefined {
  const { method, headers, body } = request;
  if (!isUint8Array(body) || !TOKEN.test(method) || method === 'CONNECT') return undefined;
  const target = requestTarget(request);
  const fields = fieldsOf(headers, host);
  if (!TARGET.test(target) || fields === undefined) return undefined;
  const length = body.length > 0 || WITH_LENGTH.has(method) ? `content-length: ${body.length}\r\n` : '';
  const head = `${method} ${target} HTTP/1.1\r\n${fields}connection: keep-alive\r\n${length}\r\n`;
  if (body.length > MAX_COPIED_BYTES) return [Buffer.from(head, 'latin1'), body];
  const bytes = Buffer.allocUnsafe(head.length + body.length);
  bytes.write(head, 0, 'latin1');
  bytes.set(body, head.length);
  return [bytes];
}

function fieldsOf(headers: HeaderMap, host: string): string | undefined {
  let text = '';
  let isNamed = false;
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined || name === 'content-length') continue;
    if (!TOKEN.test(name) || SPECIAL.has(name.toLowerCase())) return undefined;
    if (name === 'host') isNamed = true;
    for (const one of typeof value === 'string' ? [value] : value) {
      if (!FIELD_VALUE.test(one)) return undefined;
      text += `${name}: ${one}\r\n`;
    }
  }
  return isNamed ? text : `host: ${host}\r\n${text}`;
}
