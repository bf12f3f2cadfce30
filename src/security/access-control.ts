import {
  ACCESS_LIMITS,
  type AccessAction,
  type AccessControlOptions,
  type AccessOperation,
  type AccessPolicy,
  accessProblem,
  checkAccessControl,
  readAction,
  readVerb,
} from './access-options.ts';
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

/** Makes the access control of a sidecar. @throws SidecarError `ERR_CONFIGURATION` naming field, value and what was expected. */
export function makeAccessControl(options: AccessControlOptions): AccessControl {
  checkAccessControl(options);
  return new PolicyTable(options);
}

/** The rules of one caller, as written and in small letters. */
interface CompiledPolicy {
  readonly fallback: AccessAction;
  readonly exact: OperationTree;
  readonly folded: OperationTree;
}

class PolicyTable implements AccessControl {
  readonly #fallback: AccessAction;
  readonly #policies = new Map<string, CompiledPolicy>();

  constructor({ defaultAction, policies = [] }: AccessControlOptions) {
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
      fallback: policy.defaultAction === undefined ? this.#fallback : readAction(policy.defaultAction),
      exact: new OperationTree(rules),
      folded: new OperationTree(rules.map((rule) => ({ ...rule, segments: rule.segments.map(fold) }))),
    });
  }

  check({ caller, verb, path, rawPath }: AccessRequest): AccessAction {
    if (isAmbiguous(path) || (rawPath !== undefined && RAW_MISREADABLE.test(rawPath))) return 'deny';
    const policy = caller && this.#policies.get(keyOf(caller));
    if (policy === undefined) return this.#fallback;
    const capitals = verb.toUpperCase();
    const exact = policy.exact.find(segmentsOf(path), capitals) ?? policy.fallback;
    if (exact === 'deny') return 'deny';
    // Many frameworks route without regard to case: a deny holds in any case, an allow only in its own.
    const small = fold(path);
    const folded = policy.folded.find(segmentsOf(small), capitals) ?? policy.fallback;
    if (folded === 'deny' || !path.includes(';')) return folded;
    // Servers that know path parameters cut them off before they route: a deny holds for what is left then, too.
    return policy.folded.find(segmentsOf(small.replaceAll(PARAMETERS, '')), capitals) === 'deny' ? 'deny' : 'allow';
  }
}

/** What follows a semicolon in a segment. */
const PARAMETERS = /;[^/]*/g;

/** None of the three holds a slash. */
function keyOf({ appId, namespace, trustDomain }: Caller): string {
  return `${trustDomain}/${namespace}/${appId}`;
}

function fold(text: string): string {
  return text.toLowerCase();
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

/** What could become another path at a later reader: an escape left over, a backslash, a control character. */
const MISREADABLE = /[\\?#\p{Cc}]|%(?:[01][0-9a-f]|2[35ef]|3f|5c|7f)/iu;
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

function readOperation({ name, httpVerb, action }: AccessOperation, where: string): OperationRule {
  const quoted = `${where}.name ${JSON.stringify(name)}`;
  if (isAmbiguous(name) || /%[0-9a-f]{2}/i.test(name))
    throw accessProblem(`${quoted} can match nothing: expected a decoded path without dot segments, ?, # and \\`);
  const segments = segmentsOf(name);
  if (segments.length > ACCESS_LIMITS.segments)
    throw accessProblem(`${quoted} is too long: at most ${ACCESS_LIMITS.segments} segments`);
  if (segments.some((segment, at) => segment.includes('**') && (segment !== '**' || at < segments.length - 1)))
    throw accessProblem(`${quoted} has ** in its middle: expected it as the whole last segment`);
  return { segments, verbs: httpVerb.map((verb) => readVerb(verb, where)), action: readAction(action) };
}
