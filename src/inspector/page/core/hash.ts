/** Names and values of a query; what is `undefined` or empty is left out. */
export type HashQuery = Readonly<Record<string, string | number | boolean | undefined>>;

/** The parts of a URL after `#`. */
export interface Route {
  /** The path, decoded: `#/queues/pubsub/orders` is `['queues', 'pubsub', 'orders']`; of the first page, nothing. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export function parseHash(hash: string): Route {
  const text = hash.replace(/^#?\/?/, '');
  const mark = text.indexOf('?');
  const path = mark < 0 ? text : text.slice(0, mark);
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1)),
  };
}

export function formatHash(path: readonly string[], query: HashQuery | URLSearchParams = {}): string {
  const text = formatQuery(query instanceof URLSearchParams ? Object.fromEntries(query) : query);
  return `#/${path.map(encodeURIComponent).join('/')}${text}`;
}

/** `?` and the query; nothing if it is empty. */
export function formatQuery(query: HashQuery): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') given.set(name, String(value));
  }
  return given.size === 0 ? '' : `?${given}`;
}

/** People cut links: a broken escape stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
