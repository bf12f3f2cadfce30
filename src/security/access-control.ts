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
  /** Who calls, as proved; `undefined` for who has proved nothing. */
  readonly caller: Caller | undefined;
  /** The HTTP method. */
  readonly verb: string;
  /** The path at the application, decoded once and cleaned, with or without its leading slash. */
  readonly path: string;
  /** The path as the application gets it, when that is not decoded and cleaned: what it could read in another way is denied. */
  readonly rawPath?: string;
}

/** Decides who may call what. */
export interface AccessControl {
  check(call: AccessRequest): AccessAction;
}

/** What access control is made for. */
export interface AccessDeps {
  /** Whether the application speaks gRPC: Dapr then looks at the case of paths, and not at verbs. */
  readonly isGrpc?: boolean;
  /** Is told of operations that can allow nothing. */
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

/** The rules of one caller: in Dapr's order, and by how specific they are, as written and in small letters. */
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
    // What Dapr denies is denied. What it allows must be allowed by the most specific operation as well.
    const own = segmentsOf(this.#isGrpc ? path : small);
    const ordered = policy.ordered.find(own, ACCESS_VERBS.has(capitals) ? capitals : 'POST');
    if ((ordered ?? policy.fallback) === 'deny') return 'deny';
    const exact = policy.exact.find(segmentsOf(path), capitals) ?? policy.fallback;
    if (exact === 'deny') return 'deny';
    // Many frameworks route without regard to case: a deny holds in any case, an allow only in its own.
    const folded = policy.folded.find(segmentsOf(small), capitals) ?? policy.fallback;
    if (folded === 'deny' || !path.includes(';')) return folded;
    // Servers that know path parameters cut them off before they route: a deny holds for what is left then, too.
    return policy.folded.find(segmentsOf(small.replaceAll(PARAMETERS, '')), capitals) === 'deny' ? 'deny' : 'allow';
  }
}

/** What follows a semicolon in a segment. */
const PARAMETERS = /;[^/]*/g;

/** Neither holds a slash. */
function keyOf({ appId, namespace }: Pick<Caller, 'appId' | 'namespace'>): string {
  return `${namespace}/${appId}`;
}

/**
 * In small letters, each character by itself, as Dapr has them. `toLowerCase` alone makes two characters of `İ`, and a
 * `Σ` that ends a word becomes another letter than in its middle.
 */
function fold(text: string): string {
  return text.replaceAll('İ', 'i').replaceAll('Σ', 'σ').toLowerCase();
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

/** What could become another path at a later reader: a percent sign that is left, a backslash, a control character. */
const MISREADABLE = /[%\\?#\p{Cc}]/u;
/**
 * Two slashes in front name a host to who resolves the path as a URL; escaped ones separate for some and not for
 * others; a segment of one dot is dropped by some.
 */
const RAW_MISREADABLE = /^\/\/|%2f|%5c|\/(?:\.|%2e)(?:[/;]|$)/i;
/** A dot segment, also with the parameters that some servers cut off before they resolve it. */
const DOT_SEGMENT = /(?:^|\/)\.\.?(?:;[^/]*)?(?:\/|$)/;

/** Whether an application could take the path for another one than we do: such calls are denied. */
function isAmbiguous(path: string): boolean {
  return MISREADABLE.test(path) || DOT_SEGMENT.test(path);
}

/** An operation, checked; its name has a slash in front. */
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
  // Dapr finds neither of the two for any call, so that the operation would allow nothing.
  if (isAllow && segments.slice(0, -1).includes('*'))
    throw accessProblem(`${quoted} allows nothing: expected * as the last segment, or as a part of one, as in /a/x*/c`);
  if (isAllow && /\/\/|.\/$/.test(name))
    throw accessProblem(`${quoted} allows nothing: expected single slashes, and none at the end`);
  const verbs = httpVerb.map((verb) => readVerb(verb, where));
  return { name: name.startsWith('/') ? name : `/${name}`, segments, verbs, action: readAction(action) };
}

/** A character that no operation names, for what stars stand for. */
const ANYTHING = '\u{e000}';

/** The most operations of a policy among which idle ones are looked for: among 10,000 with stars it takes seconds. */
const MAX_LOOKED_AT = 1_000;

/** Tells of operations that other operations keep from allowing anything: they would be looked for in vain. */
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

const ORDER = 'the first that matches decides, and a path stands also for what lies below it';
