import { BindingError } from '../binding.ts';

/** URL parsers drop control characters, take a backslash for a slash, and end the path at a hash sign. */
const STRANGE = /[\p{Cc}\\#]/u;
const UP = /^(?:\.|%2e){1,2}$/i;

/**
 * The URL of a call: the path of the caller below that of the binding. It cannot leave it: scheme, host and path are
 * the operator's.
 *
 * @throws BindingError for a path with `..` or characters that no path has
 */
export function targetOf(base: URL, path: string | undefined): URL {
  if (path === undefined || path === '') return base;
  const [below = '', ...queries] = path.split('?');
  if (STRANGE.test(path) || below.split(/\/|%2f|%5c/i).some((segment) => UP.test(segment)))
    throw new BindingError('metadata path cannot be used: expected a path without "..", "#" and "\\"');
  const target = new URL(base);
  target.pathname = `${base.pathname.replace(/\/+$/, '')}/${below.replace(/^\/+/, '')}`;
  const search = [base.search.slice(1), ...(queries.length > 0 ? [queries.join('?')] : [])].filter(
    (part) => part !== '',
  );
  target.search = search.join('&');
  return target;
}
