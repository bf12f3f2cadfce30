import type { AccessAction } from './access-options.ts';
import { SegmentPattern } from './segment-pattern.ts';

/** An operation as interpreted by Dapr. */
export interface OrderedRule {
  /** Its path, in lower case unless the application uses gRPC, split at slashes; empty segments are kept. */
  readonly segments: readonly string[];
  readonly verbs: readonly string[];
  readonly action: AccessAction;
}

/** The actions of one operation by verb. */
type Verbs = ReadonlyMap<string, AccessAction>;

/** A segment of the operations' paths. */
interface Node {
  readonly text: string;
  /** Set for a segment with stars other than a lone `*` or `**`. */
  readonly pattern: SegmentPattern | undefined;
  /** Its position among its siblings, in written order. */
  readonly rank: number;
  readonly children: Map<string, Node>;
  /** The children with stars in their segments, in order. */
  readonly starred: Node[];
  /** The actions of the path that ends here. */
  verbs: Verbs | undefined;
}

/**
 * The operations of one policy, matched in Dapr's order. At each segment the first matching one is chosen, without
 * backtracking; the first one with an action ends the search, so a path also covers everything below it. Of two
 * operations with the same name, the first wins. A `*` counts as the last segment only.
 *
 * A call checks the children of one node for each of its segments: the time grows with the rules.
 */
export class FirstMatch {
  readonly #root = node('', 0);

  constructor(rules: readonly OrderedRule[]) {
    for (const rule of rules) add(this.#root, rule);
  }

  /** The action for a verb of the matching operation; `undefined` if none matches or it does not name the verb. */
  find(segments: readonly string[], verb: string): AccessAction | undefined {
    const verbs = this.#operationFor(segments.length === 0 ? [''] : segments);
    return verbs?.get(verb) ?? verbs?.get('*');
  }

  #operationFor(segments: readonly string[]): Verbs | undefined {
    let at = this.#root;
    for (const [index, segment] of segments.entries()) {
      const isLast = index === segments.length - 1;
      const child = childFor(at, segment, isLast);
      if (child === undefined) return undefined;
      if (child.verbs !== undefined && (isLast || child.text !== '*')) return child.verbs;
      at = child;
    }
    return at.starred.find(({ text }) => text === '*' || text === '**')?.verbs;
  }
}

function childFor(parent: Node, segment: string, isLast: boolean): Node | undefined {
  const literal = parent.children.get(segment);
  for (const child of parent.starred) {
    if (literal !== undefined && literal.rank <= child.rank) return literal;
    if (takes(child, segment, isLast)) return child;
  }
  return literal;
}

function takes({ text, pattern }: Node, segment: string, isLast: boolean): boolean {
  return pattern === undefined ? text === '**' || isLast : pattern.matches(segment);
}

function add(root: Node, { segments, verbs, action }: OrderedRule): void {
  let at = root;
  for (const segment of segments) at = childOf(at, segment);
  at.verbs ??= new Map(verbs.map((verb) => [verb, action]));
}

function childOf(parent: Node, text: string): Node {
  const known = parent.children.get(text);
  if (known !== undefined) return known;
  const child = node(text, parent.children.size);
  parent.children.set(text, child);
  if (text.includes('*')) parent.starred.push(child);
  return child;
}

function node(text: string, rank: number): Node {
  const isPattern = text.includes('*') && text !== '*' && text !== '**';
  return {
    text,
    pattern: isPattern ? new SegmentPattern(text) : undefined,
    rank,
    children: new Map(),
    starred: [],
    verbs: undefined,
  };
}
