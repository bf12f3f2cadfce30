import { SidecarError } from '../errors.ts';
import type { SidecarRequest, SidecarResponse } from './message.ts';

/**
 * The parameters of a pattern: `:name` is one segment; `*name` is the rest of the path, decoded, with doubled and
 * trailing slashes removed; `**name` is the rest exactly as received, without leading slashes. A rest, and a segment
 * followed by `?`, may be empty.
 */
export type Params<Pattern extends string> = {
  readonly [Name in ParamNames<Pattern>]: string;
};
type ParamNames<Pattern extends string> = Pattern extends `${infer Head}/${infer Tail}`
  ? ParamNames<Head> | ParamNames<Tail>
  : Pattern extends `:${infer Name}?`
    ? Name
    : Pattern extends `:${infer Name}` | `**${infer Name}`
      ? Name
      : Pattern extends `*${infer Name}`
        ? Name
        : never;

/** Handles the requests of one route. */
export type RouteHandler<Pattern extends string> = (
  request: SidecarRequest,
  params: Params<Pattern>,
) => Promise<SidecarResponse> | SidecarResponse;

/** One row of the route table. */
export interface Route {
  /** The operation in the words of the API document: `publish`, `metadata`, … Groups routes for allow lists. */
  readonly operation: string;
  /** `*` matches every method without its own route. */
  readonly methods: readonly string[];
  readonly pattern: string;
  /** Whether the route needs no API token. */
  readonly open: boolean;
  /** Whether the route authenticates this request itself, so that no API token is required. */
  readonly identifies: ((request: SidecarRequest) => boolean) | undefined;
  /** Whether its paths hold keys, of which there are too many to remember. Default: false. */
  readonly hasKeys: boolean;
  /** Whether a route for GET answers HEAD as well. Default: true. */
  readonly hasHead: boolean;
  /** Whether it is served while the sidecar stops: it admits requests itself. Default: false. */
  readonly isServedToTheEnd: boolean;
  /** Whether its requests are not worth observing: health checks, and calls between hosts. Default: if it is open. */
  readonly isMinor: boolean;
  readonly handle: (
    request: SidecarRequest,
    params: Readonly<Record<string, string>>,
  ) => Promise<SidecarResponse> | SidecarResponse;
}

/** The route and parameters of a path. */
export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** Makes a row of the route table; `handle` gets the pattern's parameters by name. */
export function route<const Pattern extends string>(
  operation: string,
  methods: readonly string[],
  pattern: Pattern,
  handle: RouteHandler<Pattern>,
  options: Partial<Pick<Route, 'open' | 'identifies' | 'hasKeys' | 'hasHead' | 'isServedToTheEnd' | 'isMinor'>> = {},
): Route {
  // The cast is safe: the router fills exactly the parameters that the pattern names.
  const { open = false, identifies, hasKeys = false, hasHead = true } = options;
  const { isServedToTheEnd = false, isMinor = open } = options;
  const own = { open, identifies, hasKeys, hasHead, isServedToTheEnd, isMinor };
  return { operation, methods, pattern, ...own, handle: handle as Route['handle'] };
}

/** A node of the route tree: literal children by text, one parameter, one rest. */
interface RouteNode {
  readonly literals: Map<string, RouteNode>;
  param: { readonly name: string; readonly node: RouteNode } | undefined;
  rest: Rest | undefined;
  readonly routes: Map<string, Route>;
}

interface Rest {
  readonly name: string;
  readonly isRaw: boolean;
  readonly routes: Map<string, Route>;
}

/** Size of the path cache and max length of a cached path: applications use a few paths again and again. */
const REMEMBERED = { paths: 1_000, length: 256 };

/** Matches every method. */
const ANY = '*';

/** The routes of a path by method, and its parameters. */
interface PathRoutes {
  readonly routes: ReadonlyMap<string, Route>;
  readonly params: Readonly<Record<string, string>>;
}

/** The route table. Literal segments take precedence over parameters, parameters over rests. */
export class Router {
  readonly #root = node();
  /** Cache: looking up the same path again took a quarter of the time of a publish. */
  readonly #remembered = new Map<string, PathRoutes>();

  constructor(routes: readonly Route[]) {
    for (const entry of routes) this.#add(entry);
  }

  /**
   * Finds the route of a request; `undefined` if no route has this path.
   *
   * @throws SidecarError `ERR_METHOD_NOT_ALLOWED` for another method of a known path, `ERR_BAD_REQUEST` for a segment
   * that cannot be decoded.
   */
  match(method: string, path: string): Match | undefined {
    const known = this.#remembered.get(path) ?? this.#find(path);
    if (known === undefined) return undefined;
    const { routes, params } = known;
    const matched = routes.get(method) ?? (method === 'HEAD' ? headOf(routes) : undefined) ?? routes.get(ANY);
    if (matched === undefined) throw methodNotAllowed(method, path, routes);
    return { route: matched, params };
  }

  /** Whether a route has this path, for any method. */
  has(path: string): boolean {
    return descend(this.#root, path, 0) !== undefined;
  }

  #find(path: string): PathRoutes | undefined {
    const found = descend(this.#root, path, 0);
    if (found === undefined) return undefined;
    // Raw rests rarely repeat: caching them would evict paths that do.
    if (found.rawRest !== undefined) return { routes: found.routes, params: { [found.rawRest[0]]: found.rawRest[1] } };
    const params: Record<string, string> = {};
    for (const [name, value] of found.params) params[name] = decodeSegments(value);
    const matched = { routes: found.routes, params };
    if (path.length > REMEMBERED.length || hasKeys(found.routes)) return matched;
    if (this.#remembered.size >= REMEMBERED.paths) this.#remembered.clear();
    this.#remembered.set(path, matched);
    return matched;
  }

  #add(entry: Route): void {
    let at = this.#root;
    let routes = at.routes;
    for (const segment of segmentsOf(entry.pattern)) {
      if (segment.startsWith('*')) {
        const isRaw = segment.startsWith('**');
        at.rest ??= { name: segment.slice(isRaw ? 2 : 1), isRaw, routes: new Map() };
        routes = at.rest.routes;
        break;
      }
      at = segment.startsWith(':') ? paramChild(at, segment.slice(1)) : literalChild(at, segment);
      routes = at.routes;
    }
    for (const method of entry.methods) routes.set(method, entry);
  }
}

function hasKeys(routes: ReadonlyMap<string, Route>): boolean {
  for (const entry of routes.values()) return entry.hasKeys;
  return false;
}

/** The route that answers HEAD, unless there is one for it. */
function headOf(routes: ReadonlyMap<string, Route>): Route | undefined {
  const get = routes.get('GET');
  return get?.hasHead === true ? get : undefined;
}

interface FoundRoute {
  readonly routes: Map<string, Route>;
  /** Names and still encoded values, innermost first. */
  readonly params: [name: string, value: string][];
  /** The raw rest of the pattern; such a pattern has no other parameters. */
  readonly rawRest?: readonly [name: string, value: string];
}

function node(): RouteNode {
  return { literals: new Map(), param: undefined, rest: undefined, routes: new Map() };
}

function literalChild(parent: RouteNode, segment: string): RouteNode {
  let child = parent.literals.get(segment);
  if (child === undefined) {
    child = node();
    parent.literals.set(segment, child);
  }
  return child;
}

function paramChild(parent: RouteNode, name: string): RouteNode {
  parent.param ??= { name, node: node() };
  if (parent.param.name !== name) throw new Error(`route parameters :${parent.param.name} and :${name} clash`);
  return parent.param.node;
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

/** Walks the tree along the path; consecutive slashes count as one. */
function descend(at: RouteNode, path: string, from: number): FoundRoute | undefined {
  let start = from;
  while (path.charCodeAt(start) === 0x2f) start++;
  if (start >= path.length) {
    if (at.routes.size > 0) return { routes: at.routes, params: [] };
    return at.rest === undefined ? undefined : foundRest(at.rest, '');
  }
  let end = path.indexOf('/', start);
  if (end === -1) end = path.length;
  const segment = path.slice(start, end);
  const literal = at.literals.get(segment) ?? escapedLiteral(at, segment);
  const viaLiteral = literal && descend(literal, path, end);
  if (viaLiteral !== undefined) return viaLiteral;
  const viaParam = at.param && descend(at.param.node, path, end);
  if (viaParam !== undefined && at.param !== undefined) {
    viaParam.params.push([at.param.name, segment]);
    return viaParam;
  }
  return at.rest === undefined ? undefined : foundRest(at.rest, path.slice(start));
}

/**
 * The literal child that a segment names in percent-escapes. A segment that does not decode is left to the parameters.
 */
function escapedLiteral({ literals }: RouteNode, segment: string): RouteNode | undefined {
  if (literals.size === 0 || !segment.includes('%')) return undefined;
  try {
    return literals.get(decodeURIComponent(segment));
  } catch {
    return undefined;
  }
}

function foundRest({ name, isRaw, routes }: Rest, value: string): FoundRoute {
  return isRaw ? { routes, params: [], rawRest: [name, value] } : { routes, params: [[name, value]] };
}

/** Decodes by RFC 3986, segment by segment (`+` stays `+`), and removes doubled and trailing slashes. */
function decodeSegments(raw: string): string {
  const folded = raw.includes('/') ? segmentsOf(raw).join('/') : raw;
  if (!folded.includes('%')) return folded;
  try {
    return decodeURIComponent(folded);
  } catch (cause) {
    const message = `path segment ${JSON.stringify(raw)} does not decode: expected percent-escapes of UTF-8`;
    throw new SidecarError('ERR_BAD_REQUEST', message, { cause });
  }
}

function methodNotAllowed(method: string, path: string, routes: ReadonlyMap<string, Route>): SidecarError {
  const allowed = [...routes.keys()];
  if (headOf(routes) !== undefined) allowed.push('HEAD');
  const allow = allowed.join(', ');
  return new SidecarError('ERR_METHOD_NOT_ALLOWED', `method ${method} is not allowed on ${path}: expected ${allow}`, {
    headers: { allow },
  });
}
