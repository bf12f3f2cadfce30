import { EMPTY_BODY, type HeaderMap, headerOf, type SidecarResponse } from '../../http/message.ts';
import type { Sent } from './sent.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** The method and the body stay. */
const SAME: ReadonlySet<number> = new Set([307, 308]);

/**
 * The request that a redirect asks for; `undefined` if the answer is none, or leads to another scheme, host or port: the
 * caller's headers, and the operator's token, are for this one.
 */
export function redirectOf({ method, url, headers, body }: Sent, response: SidecarResponse): Sent | undefined {
  const location = headerOf(response.headers, 'location');
  if (location === undefined || !REDIRECTS.has(response.status) || !URL.canParse(location, url.href)) return undefined;
  const next = new URL(location, url);
  if (next.origin !== url.origin) return undefined;
  if (SAME.has(response.status) || method === 'GET' || method === 'HEAD') return { method, url: next, headers, body };
  return { method: 'GET', url: next, headers: withoutContent(headers), body: EMPTY_BODY };
}

function withoutContent(headers: HeaderMap): HeaderMap {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')));
}
