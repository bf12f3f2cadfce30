import { suggest } from '../util/suggest.ts';
import type { Report } from './report.ts';
import { GROUPS } from './schema/envelope.ts';
import { KIND_SCHEMAS } from './schema/kinds.ts';
import type { YamlDocument } from './yaml-document.ts';

/** The type of a resource, as its document gives it. */
export interface ManifestName {
  readonly apiVersion: string;
  /** A known one. */
  readonly kind: string;
}

/** Kinds of Dapr's that mean nothing here, with what that means for the reader. */
const FOREIGN_KINDS: ReadonlyMap<string, string> = new Map([
  ['MCPServer', 'there are no MCP servers here'],
  ['PluggableComponent', 'there are no pluggable components here'],
  ['WorkflowAccessPolicy', 'it is not enforced here'],
]);

const KINDS: readonly string[] = [...KIND_SCHEMAS.keys()];

/** A text that names one of our groups: the file may hold resources, however broken it is. */
const OUR_GROUP = /(?:dapr|sidecar)\.io\//i;
const MANIFEST_KEY = /^["']?(?:kind|apiVersion)["']?\s*:/im;

/** Whether a text, even one that is no YAML, may be meant for a resource. */
export function mayHoldResource(text: string): boolean {
  return OUR_GROUP.test(text) || MANIFEST_KEY.test(text);
}

/** Whether a text that is no YAML names one of our groups. */
export function namesOurGroup(text: string): boolean {
  return OUR_GROUP.test(text);
}

/**
 * Reads the kind of a document. What is no resource of a sidecar is noted, since people keep other files beside their
 * resources; what is probably meant for one, a slip of the pen, is a problem.
 */
export function readKind(document: YamlDocument, report: Report, inAnyCase: boolean): ManifestName | undefined {
  const { value } = document;
  const problem = (message: string, key?: string): undefined =>
    report.problem(document.location(key === undefined ? [] : [key]), message) as undefined;
  const note = (message: string): undefined => report.note(document.location(), message) as undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const what = Array.isArray(value) ? 'a list' : 'a single value';
    if (JSON.stringify(value).match(OUR_GROUP))
      return problem(`it is ${what}: a resource is a document of its own, with --- before the next one`);
    return note(`it is ${what}, no resource: it is not used`);
  }
  const { apiVersion, kind, apps } = value as Readonly<Record<string, unknown>>;
  if (typeof apiVersion === 'string' && typeof kind === 'string')
    return nameOf({ apiVersion, kind }, { inAnyCase, problem, note });
  if (apiVersion === undefined && kind === undefined && Array.isArray(apps))
    return note('it is a multi-app file, for --run-file: it is not used as a resource');
  if (!isMeantForResource(value as Readonly<Record<string, unknown>>))
    return note('it is no resource, which has apiVersion and kind: it is not used');
  const missing = typeof apiVersion === 'string' ? 'kind' : 'apiVersion';
  const written = Object.keys(value).find((key) => key !== missing && suggest(key, [missing]) !== undefined);
  const hint = written === undefined ? '' : `: it has ${JSON.stringify(written)}; did you mean "${missing}"?`;
  return problem(
    `${missing} is missing or no text${hint === '' ? ': a resource has apiVersion and kind' : hint}`,
    missing,
  );
}

interface Telling {
  readonly inAnyCase: boolean;
  readonly problem: (message: string, key?: string) => undefined;
  readonly note: (message: string) => undefined;
}

function nameOf({ apiVersion, kind }: ManifestName, { inAnyCase, problem, note }: Telling): ManifestName | undefined {
  const known = KINDS.find((one) => one === kind || (inAnyCase && one.toLowerCase() === kind.toLowerCase()));
  const foreign = FOREIGN_KINDS.get(kind);
  if (known === undefined && foreign !== undefined && isOurGroup(apiVersion))
    return note(`${kind} is not used: ${foreign}`);
  const meant = suggest(kind, KINDS);
  if (isOthersGroup(apiVersion) || (meant === undefined && !isLikeOurGroup(apiVersion)))
    return note(`${apiVersion} ${kind} is not a resource of a sidecar: it is not used`);
  if (known !== undefined) return { apiVersion, kind: known };
  const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
  return problem(`unknown kind ${JSON.stringify(kind)}: expected ${KINDS.join(', ')}${hint}`, 'kind');
}

function isOurGroup(apiVersion: string): boolean {
  return GROUPS.some((group) => apiVersion.startsWith(`${group}/`));
}

function isLikeOurGroup(apiVersion: string): boolean {
  const [group = ''] = apiVersion.split('/', 1);
  return isOurGroup(apiVersion) || suggest(group, GROUPS) !== undefined;
}

/** The group is a domain that is clearly somebody else's: Knative has a Subscription, too. */
function isOthersGroup(apiVersion: string): boolean {
  return /^[^/]+\.[^/]+\//.test(apiVersion) && !/dapr|sidecar/i.test(apiVersion) && !isLikeOurGroup(apiVersion);
}

/** Whether something in a document without kind or version says that it was meant for a resource. */
function isMeantForResource(value: Readonly<Record<string, unknown>>): boolean {
  const isManifest = typeof value['metadata'] === 'object' && typeof value['spec'] === 'object';
  return isManifest || Object.entries(value).some(([key, text]) => typeof text === 'string' && isTelling(key, text));
}

/** A key that is, or nearly is, one of a resource, with a value that is, or nearly is, one of ours. */
function isTelling(key: string, text: string): boolean {
  if (suggest(key, ['apiVersion']) !== undefined && isLikeOurGroup(text)) return true;
  return OUR_GROUP.test(text) || (suggest(key, ['kind']) !== undefined && suggest(text, KINDS) !== undefined);
}
