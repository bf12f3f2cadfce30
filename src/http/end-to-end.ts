import type { HeaderMap } from './message.ts';
import { OWN_CALL_HEADER } from './own-calls.ts';

/** Fields of one connection, not of the message. */
export const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
  'trailer',
  'proxy-authorization',
  'proxy-authenticate',
  // Not a field, but it would change the object that holds them.
  '__proto__',
];

/** Values that nominate no fields. */
const COMMON_CONNECTION = new Set(['keep-alive', 'close']);

/** The further fields that a `connection` field limits to one connection. */
export function nominatedBy(connection: HeaderMap[string]): ReadonlySet<string> | undefined {
  if (connection === undefined || (typeof connection === 'string' && COMMON_CONNECTION.has(connection)))
    return undefined;
  return new Set(
    String(connection)
      .split(',')
      .map((name) => name.trim().toLowerCase()),
  );
}

const NOT_PASSED = new Set([...HOP_BY_HOP, OWN_CALL_HEADER, 'host', 'expect', 'content-length']);

/** The fields of a message, read as a whole, that another message can carry on: without those in `dropped`. */
export function endToEnd(headers: HeaderMap, dropped?: ReadonlySet<string>): HeaderMap {
  const nominated = nominatedBy(headers['connection']);
  const fields: Record<string, string | readonly string[]> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    // Over HTTP/2, Node lists `:method` and the like among the fields.
    if (value === undefined || name.startsWith(':') || NOT_PASSED.has(name)) continue;
    if (nominated?.has(name) !== true && dropped?.has(name) !== true) fields[name] = value;
  }
  return fields;
}
