import { SidecarError } from '../errors.ts';
import type { SidecarRequest, SidecarResponse } from './message.ts';

/**
 * The parameters of a pattern, by its text: `:name` is one segment, `*name` the rest of the path decoded and with
 * doubled and trailing slashes folded, `**name` the rest exactly as it came, without the slashes in front of it. A rest
 * and a segment followed by `?` may be empty.
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

/** Answers the requests of one route. */
export type RouteHandler<Pattern extends string> = (
  request: SidecarRequest,
  params: Params<Pattern>,
) => Promise<SidecarResponse> | SidecarResponse;

/** One row of the route table. */
export interface Route {
  /** What it does, in the words of the API document: `publish`, `metadata`, … Groups routes for allow lists. */
  readonly operation: string;
  /** `*` for every method that has no route of its own there. */
  readonly methods: readonly string[];
  readonly pattern: string;
  /** Answers without the API token. */
  readonly open: boolean;
  /** Whether it checks by itself who sends this request, so that the API token is not asked for. */
  readonly identifies: ((request: SidecarRequest) => boolean) | undefined;
  readonly handle: (
    request: SidecarRequest,
    params: Readonly<Record<string, string>>,
  ) => Promise<SidecarResponse> | SidecarResponse;
}

/** What a path leads to. */
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
  options: Partial<Pick<Route, 'open' | 'identifies'>> = {},
): Route {
  // The router fills exactly the parameters that the pattern names, which is what the type says.
  const { open = false, identifies } = options;
  return { operation, methods, pattern, open, identifies, handle: handle as Route['handle'] };
}

/** A node of the table: literal children by their text, one parameter, one rest. */
interface Node {
  readonly literals: Map<string, Node>;
  param: { readonly name: string; readonly node: Node } | undefined;
  rest: Rest | undefined;
  readonly routes: Map<string, Route>;
}

interface Rest {
  readonly name: string;
  readonly isRaw: boolean;
  readonly routes: Map<string, Route>;
}

/** How many paths are remembered, and the longest: applications use a few paths again and again. */
const REMEMBERED = { paths: 1_000, length: 256 };

/** Stands for every method. */
const ANY = '*';

/** What a path leads to, for any method. */
interface Place {
  readonly routes: ReadonlyMap<string, Route>;
  readonly params: Readonly<Record<string, string>>;
}

/** The route table. Literal segments win over parameters, parameters over rests. */
export class Router {
  readonly #root = node();
  /** A quarter of a publish's time was spent on finding the same path again. */
  readonly #remembered = new Map<string, Place>();

  constructor(routes: readonly Route[]) {
    for (const entry of routes) this.#add(entry);
  }

  /**
   * Finds the route of a request; `undefined` when no route has this path.
   *
   * @throws SidecarError `ERR_METHOD_NOT_ALLOWED` for another method of a known path, `ERR_BAD_REQUEST` for a
   * segment that does not decode.
   */
  match(method: string, path: string): Match | undefined {
    const place = this.#remembered.get(path) ?? this.#find(path);
    if (place === undefined) return undefined;
    const { routes, params } = place;
    const matched = routes.get(method) ?? (method === 'HEAD' ? routes.get('GET') : undefined) ?? routes.get(ANY);
    if (matched === undefined) throw methodNotAllowed(method, path, routes);
    return { route: matched, params };
  }

  /** Whether a route has this path, for any method. */
  has(path: string): boolean {
    return descend(this.#root, path, 0) !== undefined;
  }

  #find(path: string): Place | undefined {
    const found = descend(this.#root, path, 0);
    if (found === undefined) return undefined;
    // A raw rest is as good as never the same again: remembering it would push out the paths that are.
    if (found.rawRest !== undefined) return { routes: found.routes, params: { [found.rawRest[0]]: found.rawRest[1] } };
    const params: Record<string, string> = {};
    for (const [name, value] of found.params) params[name] = decodeSegments(value);
    const place = { routes: found.routes, params };
    if (path.length > REMEMBERED.length) return place;
    if (this.#remembered.size >= REMEMBERED.paths) this.#remembered.clear();
    this.#remembered.set(path, place);
    return place;
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

interface Found {
  readonly routes: Map<string, Route>;
  /** Names and still encoded values, innermost first. */
  readonly params: [name: string, value: string][];
  /** The rest of a pattern that takes it as it is; such a pattern has no other parameters. */
  readonly rawRest?: readonly [name: string, value: string];
}

function node(): Node {
  return { literals: new Map(), param: undefined, rest: undefined, routes: new Map() };
}

function literalChild(parent: Node, segment: string): Node {
  let child = parent.literals.get(segment);
  if (child === undefined) {
    child = node();
    parent.literals.set(segment, child);
  }
  return child;
}

function paramChild(parent: Node, name: string): Node {
  parent.param ??= { name, node: node() };
  if (parent.param.name !== name) throw new Error(`route parameters :${parent.param.name} and :${name} clash`);
  return parent.param.node;
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

/** Walks the table along the path; slashes that follow each other count as one. */
function descend(at: Node, path: string, from: number): Found | undefined {
  let start = from;
  while (path.charCodeAt(start) === 0x2f) start++;
  if (start >= path.length) {
    if (at.routes.size > 0) return { routes: at.routes, params: [] };
    return at.rest === undefined ? undefined : foundRest(at.rest, '');
  }
  let end = path.indexOf('/', start);
  if (end === -1) end = path.length;
  const segment = path.slice(start, end);
  const literal = at.literals.get(segment);
  const viaLiteral = literal && descend(literal, path, end);
  if (viaLiteral !== undefined) return viaLiteral;
  const viaParam = at.param && descend(at.param.node, path, end);
  if (viaParam !== undefined && at.param !== undefined) {
    viaParam.params.push([at.param.name, segment]);
    return viaParam;
  }
  return at.rest === undefined ? undefined : foundRest(at.rest, path.slice(start));
}

function foundRest({ name, isRaw, routes }: Rest, value: string): Found {
  return isRaw ? { routes, params: [], rawRest: [name, value] } : { routes, params: [[name, value]] };
}

/** Decodes by RFC 3986, segment by segment (`+` stays `+`), folding doubled and trailing slashes. */
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
  if (routes.has('GET')) allowed.push('HEAD');
  const allow = allowed.join(', ');
  return new SidecarError('ERR_METHOD_NOT_ALLOWED', `method ${method} is not allowed on ${path}: expected ${allow}`, {
    headers: { allow },
  });
}
