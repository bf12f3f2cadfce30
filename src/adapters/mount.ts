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

/** The path of a URL without scheme and host. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
