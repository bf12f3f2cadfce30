import type { AdapterOptions } from '../http/message.ts';

/** The URL relative to the mount point; `undefined` if it lies outside. */
export function belowPrefix(url: string, prefix: AdapterOptions['prefix']): string | undefined {
  if (prefix === undefined || prefix === '' || prefix === '/') return url;
  const cut = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix;
  if (!url.startsWith(cut)) return undefined;
  const rest = url.slice(cut.length);
  if (rest === '') return '/';
  if (rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : undefined;
}

const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** A request target without scheme and host, which clients may send and others must accept (RFC 9112, 3.2.2). */
export function originForm(target: string): string {
  if (target.charCodeAt(0) === 0x2f) return target;
  const rest = target.replace(ORIGIN, '');
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`;
}

/** The path of a URL without scheme and host. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
