import type { AccessAction } from './access-options.ts';
import { SegmentPattern } from './segment-pattern.ts';

/** A rule of a policy: its path in segments, its verbs in capitals. */
export interface OperationRule {
  readonly segments: readonly string[];
  readonly verbs: readonly string[];
  readonly action: AccessAction;
}

/** The actions of one path by verb. */
type Verbs = Map<string, AccessAction>;

interface Glob {
  readonly pattern: SegmentPattern;
  readonly node: Node;
}

/** The rules that share the segments so far. */
interface Node {
  readonly literals: Map<string, Node>;
  /** Segments with stars, the most specific first. */
  readonly globs: Glob[];
  readonly globNodes: Map<string, Node>;
  /** A segment that is a lone star. */
  star: Node | undefined;
  /** The actions of paths that end here. */
  readonly own: Verbs;
  /** The actions of `**` at this point. */
  readonly rest: Verbs;
}

/**
 * The operations of one policy as a tree of segments. A literal segment takes precedence over one with stars, that over
 * a lone star, that over `**`, from left to right. A call visits each node at most once, whatever the rules: the time
 * grows with the number of rules, never with their combinations.
 */
export class OperationTree {
  readonly #root = node();

  constructor(rules: readonly OperationRule[]) {
    for (const rule of rules) add(this.#root, rule);
    sortGlobs(this.#root);
  }

  /** The action of the most specific rule for path and verb; `undefined` if there is none. */
  find(segments: readonly string[], verb: string): AccessAction | undefined {
    return decide(this.#root, { segments, verb }, 0);
  }
}

/** If two rules name the same path and verb, deny wins. */
function add(root: Node, { segments, verbs, action }: OperationRule): void {
  const isRest = segments.at(-1) === '**';
  let at = root;
  for (const segment of isRest ? segments.slice(0, -1) : segments) at = childOf(at, segment);
  const actions = isRest ? at.rest : at.own;
  for (const verb of verbs) actions.set(verb, actions.get(verb) === 'deny' ? 'deny' : action);
}

function sortGlobs(at: Node): void {
  at.globs.sort((one, other) => other.pattern.fixedLength - one.pattern.fixedLength);
  for (const child of at.literals.values()) sortGlobs(child);
  for (const glob of at.globs) sortGlobs(glob.node);
  if (at.star !== undefined) sortGlobs(at.star);
}

interface Call {
  readonly segments: readonly string[];
  readonly verb: string;
}

function decide(at: Node, call: Call, depth: number): AccessAction | undefined {
  const { verb } = call;
  const segment = call.segments[depth];
  const exact = segment === undefined ? said(at.own, verb) : below(at, call, depth, segment);
  return exact ?? said(at.rest, verb) ?? impliedDeny(at, verb);
}

function below(at: Node, call: Call, depth: number, segment: string): AccessAction | undefined {
  const literal = at.literals.get(segment);
  return (
    (literal && decide(literal, call, depth + 1)) ??
    byGlob(at.globs, call, depth, segment) ??
    (at.star && decide(at.star, call, depth + 1))
  );
}

/** If globs are equally specific, deny wins. */
function byGlob(globs: readonly Glob[], call: Call, depth: number, segment: string): AccessAction | undefined {
  let found: AccessAction | undefined;
  let rank = -1;
  for (const { pattern, node } of globs) {
    if (found !== undefined && (found === 'deny' || pattern.fixedLength < rank)) return found;
    if (!pattern.matches(segment)) continue;
    const decision = decide(node, call, depth + 1);
    if (decision === undefined) continue;
    found = decision;
    rank = pattern.fixedLength;
  }
  return found;
}

/** A deny also covers everything below its path; with a final star, also the path before it. The weakest rule. */
function impliedDeny(at: Node, verb: string): AccessAction | undefined {
  if (said(at.own, verb) === 'deny') return 'deny';
  return at.star !== undefined && said(at.star.own, verb) === 'deny' ? 'deny' : undefined;
}

/** A named verb takes precedence over `*`. Applications answer HEAD like GET: a denied GET also denies HEAD. */
function said(verbs: Verbs, verb: string): AccessAction | undefined {
  if (verbs.size === 0) return undefined;
  const named = verbs.get(verb);
  if (named !== undefined) return named;
  if (verb === 'HEAD' && verbs.get('GET') === 'deny') return 'deny';
  return verbs.get('*');
}

function childOf(parent: Node, segment: string): Node {
  if (segment === '*') {
    parent.star ??= node();
    return parent.star;
  }
  if (segment.includes('*')) return globChild(parent, segment);
  let child = parent.literals.get(segment);
  if (child === undefined) {
    child = node();
    parent.literals.set(segment, child);
  }
  return child;
}

function globChild(parent: Node, segment: string): Node {
  const known = parent.globNodes.get(segment);
  if (known !== undefined) return known;
  const child = node();
  parent.globNodes.set(segment, child);
  parent.globs.push({ pattern: new SegmentPattern(segment), node: child });
  return child;
}

function node(): Node {
  return {
    literals: new Map(),
    globs: [],
    globNodes: new Map(),
    star: undefined,
    own: new Map(),
    rest: new Map(),
  };
}
