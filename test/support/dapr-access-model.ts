import type { AccessAction, AccessControlOptions, AccessOperation } from '../../src/security/access-options.ts';
import type { Caller } from '../../src/security/identity.ts';

/** A call as it arrives at the callee: the path still encoded. */
export interface ModelCall {
  readonly caller: Caller | undefined;
  readonly verb: string;
  readonly path: string;
}

/** One segment of the paths of operations. Children stay in the order in which they were put in. */
interface TrieNode {
  readonly text: string;
  readonly children: TrieNode[];
  verbs?: Map<string, AccessAction>;
}

const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'];

/**
 * Whether Dapr allows a call, by its own algorithm as the reference tells it: the policy of app ID and namespace (the
 * last one written), its trust domain, its trie of operations, its default, the default of all. For applications that
 * speak gRPC the case of paths counts, and an operation is for all verbs, also when it names some.
 */
export function daprDecision(
  options: AccessControlOptions,
  { caller, verb, path }: ModelCall,
  isGrpc = false,
): AccessAction {
  const forAll = options.defaultAction ?? 'allow';
  const policy = options.policies?.findLast(
    ({ appId, namespace }) => caller !== undefined && appId === caller.appId && namespace === caller.namespace,
  );
  if (policy === undefined || policy.trustDomain !== caller?.trustDomain) return forAll;
  const byDefault = policy.defaultAction ?? forAll;
  const method = normalised(path);
  if (method === undefined) return 'deny';
  const asFound = isGrpc ? (text: string) => text : small;
  const verbs = search(trieOf(policy.operations ?? [], asFound), asFound(`/${method}`).split('/').slice(1));
  if (isGrpc) return verbs?.values().next().value ?? byDefault;
  const known = VERBS.includes(verb.toUpperCase()) ? verb.toUpperCase() : 'POST';
  return verbs?.get(known) ?? verbs?.get('*') ?? byDefault;
}

/** The method as it is checked: decoded twice, once by the API and once as a URL, and cleaned. */
function normalised(path: string): string | undefined {
  try {
    const once = decodeURIComponent(path);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what Dapr refuses
    if (/[#?\x00-\x1f\x7f]/.test(once)) return undefined;
    const cleaned: string[] = [];
    for (const segment of decodeURIComponent(once).split('/')) {
      if (segment === '..') cleaned.pop();
      else if (segment !== '' && segment !== '.') cleaned.push(segment);
    }
    return cleaned.join('/');
  } catch {
    return undefined;
  }
}

/** Small letters as Go makes them: character by character, one for each. */
function small(text: string): string {
  return [...text].map((one) => (one === 'İ' ? 'i' : one.toLowerCase())).join('');
}

function trieOf(operations: readonly AccessOperation[], asFound: (text: string) => string): TrieNode {
  const root: TrieNode = { text: '', children: [] };
  for (const { name, httpVerb, action } of operations) {
    let at = root;
    const slashed = name.startsWith('/') ? name : `/${name}`;
    for (const text of asFound(slashed).split('/').slice(1)) {
      let child = at.children.find((one) => one.text === text);
      if (child === undefined) {
        child = { text, children: [] };
        at.children.push(child);
      }
      at = child;
    }
    at.verbs ??= new Map(httpVerb.map((one) => [one, action]));
  }
  return root;
}

function search(root: TrieNode, segments: readonly string[]): Map<string, AccessAction> | undefined {
  let at: TrieNode = root;
  for (const [index, segment] of segments.entries()) {
    const isEnd = index === segments.length - 1;
    const child = childFor(at, segment, isEnd);
    if (child === undefined) return undefined;
    if (child.verbs !== undefined && (isEnd || child.text !== '*')) return child.verbs;
    if (isEnd) return childFor(child, '*', true)?.verbs;
    at = child;
  }
  return undefined;
}

function childFor({ children }: TrieNode, segment: string, isEnd: boolean): TrieNode | undefined {
  for (const child of children) {
    if (child.text === segment) return child;
    if (child.text === '*') {
      if (isEnd) return child;
    } else if (child.text === '**' || isMatch(segment, child.text)) return child;
  }
  return undefined;
}

/** Each star stands for any text, none included. */
function isMatch(text: string, pattern: string): boolean {
  const escaped = pattern.replace(/[.+?^$()[\]{}|\\]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${escaped}$`, 's').test(text);
}
