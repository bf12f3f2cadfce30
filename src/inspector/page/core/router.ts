import { signal } from '@preact/signals';
import { formatHash, type HashQuery, parseHash, type Route } from './hash.ts';

/** The contents of the address bar. */
export const route = signal<Route>(parseHash(location.hash));

/** How often another page was gone to: its heading gets the focus then, but not when the first page opens. */
export const visits = signal(0);

function follow(): void {
  const next = parseHash(location.hash);
  const isSamePage = formatHash(next.path) === formatHash(route.value.path);
  route.value = next;
  if (!isSamePage) visits.value++;
}

addEventListener('hashchange', follow);

/** Goes to `href` (`#/…`). With `replace`, the way back skips the page that is left. */
export function navigate(href: string, options: { readonly replace?: boolean } = {}): void {
  if (href === location.hash) return;
  if (options.replace !== true) {
    location.hash = href;
    return;
  }
  history.replaceState(history.state, '', href);
  follow();
}

/** The link to a page: `link('queues', { topic })`; parts of a path as a list. */
export function link(path: string | readonly string[], query: HashQuery = {}): string {
  return formatHash(typeof path === 'string' ? path.split('/').filter(Boolean) : path, query);
}

/** Parameters of one view of a list, beside its filters. */
const OF_VIEW = ['cursor', 'open'];

/** The link to this page with another query. Filters bring the list back to its start, with nothing open. */
export function withQuery(changes: HashQuery, options: { readonly keepsView?: boolean } = {}): string {
  const query = new URLSearchParams(route.value.query);
  if (options.keepsView !== true) for (const name of OF_VIEW) query.delete(name);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, String(value));
  }
  return formatHash(route.value.path, query);
}

/** A value of the query; `undefined` if it is absent or empty. */
export function param(name: string): string | undefined {
  return route.value.query.get(name) || undefined;
}

/** These values of the query, as the API takes them. */
export function params(...names: readonly string[]): HashQuery {
  return Object.fromEntries(names.map((name) => [name, param(name)]));
}
