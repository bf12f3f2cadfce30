import {
  ACCESS_LIMITS,
  ACCESS_VERBS,
  type AccessAction,
  type AccessControlOptions,
  type AccessOperation,
  type AccessPolicy,
  accessProblem,
  checkAccessControl,
  readAction,
  readVerb,
} from './access-options.ts';
import { FirstMatch, type OrderedRule } from './first-match.ts';
import type { Caller } from './identity.ts';
import { type OperationRule, OperationTree } from './operation-tree.ts';

/** A call from another sidecar. */
export interface AccessRequest {
  /** The authenticated caller; `undefined` for an anonymous one. */
  readonly caller: Caller | undefined;
  /** The HTTP method. */
  readonly verb: string;
  /** The path at the application, decoded once and normalised, with or without its leading slash. */
  readonly path: string;
  /** The path that the application receives, if not decoded and normalised: denied if it could be read differently. */
  readonly rawPath?: string;
}

/** Decides who may call what. */
export interface AccessControl {
  check(call: AccessRequest): AccessAction;
}

export interface AccessDeps {
  /** Whether the application uses gRPC: Dapr then matches paths by case and ignores verbs. */
  readonly isGrpc?: boolean;
  /** Called for operations that can never allow anything. */
  readonly warn?: (message: string) => void;
}

/**
 * Makes the access control of a sidecar.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming field, value and what was expected.
 */
export function makeAccessControl(
  options: AccessControlOptions,
  { isGrpc = false, warn = () => undefined }: AccessDeps = {},
): AccessControl {
  checkAccessControl(options);
  const table = new PolicyTable(options, isGrpc);
  warnOfIdleAllows(options, table, warn);
  return table;
}

/** The rules of one caller: in Dapr's order, and by specificity, as written and in lower case. */
interface CompiledPolicy {
  readonly trustDomain: string;
  readonly fallback: AccessAction;
  readonly ordered: FirstMatch;
  readonly exact: OperationTree;
  readonly folded: OperationTree;
}

class PolicyTable implements AccessControl {
  readonly #isGrpc: boolean;
  readonly #fallback: AccessAction;
  readonly #policies = new Map<string, CompiledPolicy>();

  constructor({ defaultAction, policies = [] }: AccessControlOptions, isGrpc: boolean) {
    this.#isGrpc = isGrpc;
    this.#fallback = readAction(defaultAction ?? 'deny');
    for (const [index, policy] of policies.entries()) this.#add(policy, `options.accessControl.policies.${index}`);
  }

  #add(policy: AccessPolicy, where: string): void {
    const key = keyOf(policy);
    if (this.#policies.has(key))
      throw accessProblem(
        `${where} is a second policy for ${policy.appId} in namespace ${policy.namespace}: put its operations into the first`,
      );
    const rules = (policy.operations ?? []).map((operation, index) =>
      readOperation(operation, `${where}.operations.${index}`),
    );
    this.#policies.set(key, {
      trustDomain: policy.trustDomain,
      fallback: policy.defaultAction === undefined ? this.#fallback : readAction(policy.defaultAction),
      ordered: new FirstMatch(rules.map((rule) => this.#asInDapr(rule))),
      exact: new OperationTree(rules),
      folded: new OperationTree(rules.map((rule) => ({ ...rule, segments: rule.segments.map(fold) }))),
    });
  }

  #asInDapr({ name, verbs, action }: ReadOperation): OrderedRule {
    const segments = (this.#isGrpc ? name : fold(name)).split('/').slice(1);
    return { segments, verbs: this.#isGrpc ? ['*'] : verbs, action };
  }

  check({ caller, verb, path, rawPath }: AccessRequest): AccessAction {
    if (isAmbiguous(path) || (rawPath !== undefined && RAW_MISREADABLE.test(rawPath))) return 'deny';
    const policy = caller && this.#policies.get(keyOf(caller));
    if (policy === undefined || policy.trustDomain !== caller?.trustDomain) return this.#fallback;
    const capitals = verb.toUpperCase();
    const small = fold(path);
    // A call that Dapr denies is denied. One that Dapr allows must also be allowed by the most specific operation.
    const own = segmentsOf(this.#isGrpc ? path : small);
    const ordered = policy.ordered.find(own, ACCESS_VERBS.has(capitals) ? capitals : 'POST');
    if ((ordered ?? policy.fallback) === 'deny') return 'deny';
    const exact = policy.exact.find(segmentsOf(path), capitals) ?? policy.fallback;
    if (exact === 'deny') return 'deny';
    // Many frameworks route case-insensitively: a deny applies in any case, an allow only in its own.
    const folded = policy.folded.find(segmentsOf(small), capitals) ?? policy.fallback;
    if (folded === 'deny' || !path.includes(';')) return folded;
    // Servers that support path parameters remove them before routing: a deny also applies to the remaining path.
    return policy.folded.find(segmentsOf(small.replaceAll(PARAMETERS, '')), capitals) === 'deny' ? 'deny' : 'allow';
  }
}

/** The text after a semicolon in a segment. */
const PARAMETERS = /;[^/]*/g;

/** Unambiguous: neither part contains a slash. */
function keyOf({ appId, namespace }: Pick<Caller, 'appId' | 'namespace'>): string {
  return `${namespace}/${appId}`;
}

/**
 * Lower-cases each character separately, as Dapr does. `toLowerCase` alone turns `İ` into two characters, and a `Σ` at
 * the end of a word into another letter than within it.
 */
function fold(text: string): string {
  return text.replaceAll('İ', 'i').replaceAll('Σ', 'σ').toLowerCase();
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

/** Characters that a later reader could interpret differently: a remaining `%`, a backslash, a control character. */
const MISREADABLE = /[%\\?#\p{Cc}]/u;
/**
 * Two leading slashes name a host if the path is resolved as a URL; some servers treat escaped slashes as separators;
 * some drop a segment of one dot.
 */
const RAW_MISREADABLE = /^\/\/|%2f|%5c|\/(?:\.|%2e)(?:[/;]|$)/i;
/** A dot segment, also with path parameters, which some servers remove before resolving it. */
const DOT_SEGMENT = /(?:^|\/)\.\.?(?:;[^/]*)?(?:\/|$)/;

/** Whether an application could interpret the path differently: such calls are denied. */
function isAmbiguous(path: string): boolean {
  return MISREADABLE.test(path) || DOT_SEGMENT.test(path);
}

/** A validated operation; its name starts with a slash. */
interface ReadOperation extends OperationRule {
  readonly name: string;
}

function readOperation({ name, httpVerb, action }: AccessOperation, where: string): ReadOperation {
  const quoted = `${where}.name ${JSON.stringify(name)}`;
  const segments = segmentsOf(name);
  const isAllow = readAction(action) === 'allow';
  if (isAmbiguous(name))
    throw accessProblem(`${quoted} can match nothing: expected a decoded path without dot segments, %, ?, # and \\`);
  if (segments.length > ACCESS_LIMITS.segments)
    throw accessProblem(`${quoted} is too long: at most ${ACCESS_LIMITS.segments} segments`);
  if (segments.some((segment, at) => segment.includes('**') && (segment !== '**' || at < segments.length - 1)))
    throw accessProblem(`${quoted} has ** in its middle: expected it as the whole last segment`);
  // Dapr matches neither form for any call, so the operation would allow nothing.
  if (isAllow && segments.slice(0, -1).includes('*'))
    throw accessProblem(`${quoted} allows nothing: expected * as the last segment, or as a part of one, as in /a/x*/c`);
  if (isAllow && /\/\/|.\/$/.test(name))
    throw accessProblem(`${quoted} allows nothing: expected single slashes, and none at the end`);
  const verbs = httpVerb.map((verb) => readVerb(verb, where));
  return { name: name.startsWith('/') ? name : `/${name}`, segments, verbs, action: readAction(action) };
}

/** A character that no operation contains, as a sample of the text that stars match. */
const ANYTHING = '\u{e000}';

/** Max operations of a policy that are checked for idle ones: 10,000 with stars take seconds. */
const MAX_LOOKED_AT = 1_000;

/** Warns of allow operations that never take effect because other operations deny the same calls. */
function warnOfIdleAllows(
  { policies = [] }: AccessControlOptions,
  control: AccessControl,
  warn: (message: string) => void,
): void {
  for (const [index, { operations = [], ...caller }] of policies.entries()) {
    if (operations.length > MAX_LOOKED_AT) continue;
    for (const [at, { name, httpVerb, action }] of operations.entries()) {
      if (readAction(action) === 'deny') continue;
      const path = name.replaceAll(/\*+/g, ANYTHING);
      const verbs = httpVerb.includes('*') ? [...ACCESS_VERBS] : httpVerb;
      if (verbs.some((verb) => control.check({ caller, verb, path }) === 'allow')) continue;
      const where = `options.accessControl.policies.${index}.operations.${at}`;
      warn(`${where} (${JSON.stringify(name)}) allows nothing: other operations deny all that it names; ${ORDER}`);
    }
  }
}

const ORDER = 'the first match decides, and a path includes all paths below it';
