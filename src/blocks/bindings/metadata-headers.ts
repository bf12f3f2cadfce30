import { asHeaderValue } from '../../http/header-value.ts';
import type { HeaderMap } from '../../http/message.ts';

const PREFIX = 'metadata.';
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_TEXT = /^[ -~]*$/;

/** The metadata of an answer as headers. Names that no header can have are left out. */
export function metadataHeaders(metadata: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(metadata).filter(([name]) => TOKEN.test(name));
  return Object.fromEntries(
    entries.map(([name, value]) => [
      `${PREFIX}${name.toLowerCase()}`,
      HEADER_TEXT.test(value) ? value.trim() : asHeaderValue(value.toWellFormed()),
    ]),
  );
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
