import { asHeaderValue } from '../../http/header-value.ts';
import type { HeaderMap } from '../../http/message.ts';

const PREFIX = 'metadata.';
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_TEXT = /^[ -~]*$/;

/** Most clients read 16 KiB of headers (Node, Java), and reject the whole answer for more. */
const MAX_BYTES = 12 * 1024;
/** The colon, the space and the line break of a field. */
const FIELD_BYTES = 4;

/**
 * The metadata of an answer as headers. Names that no header can have are left out, and the largest headers as well if
 * clients could not read all of them: a statement of PostgreSQL may be one.
 */
export function metadataHeaders(metadata: Readonly<Record<string, string>>): Record<string, string> {
  const headers = Object.entries(metadata)
    .filter(([name]) => TOKEN.test(name))
    .map(([name, value]) => [`${PREFIX}${name.toLowerCase()}`, headerValueOf(value)] as const);
  let bytes = 0;
  const fitting = headers
    .toSorted((left, right) => sizeOf(left) - sizeOf(right))
    .filter((header) => {
      bytes += sizeOf(header);
      return bytes <= MAX_BYTES;
    });
  return Object.fromEntries(fitting);
}

function headerValueOf(value: string): string {
  return HEADER_TEXT.test(value) ? value.trim() : asHeaderValue(value.toWellFormed());
}

function sizeOf([name, value]: readonly [string, string]): number {
  return name.length + value.length + FIELD_BYTES;
}

/**
 * Fields that a server, a proxy or the sidecar itself sets and an application trusts: a message from outside must not.
 */
const OWN =
  /^(?:content-(?:length|type|encoding)|host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-.*|authorization|cookie|forwarded|x-forwarded-.*|x-real-ip|(?:dapr|sidecar)-.*)$/;

/** The metadata of an event as headers. What no header can carry is left out. */
export function eventHeaders(metadata: Readonly<Record<string, string>>): HeaderMap {
  return Object.fromEntries(
    Object.entries(metadata)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name, value]) => TOKEN.test(name) && !OWN.test(name) && HEADER_TEXT.test(value)),
  );
}
