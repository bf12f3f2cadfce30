import type { JsonSchema } from '../util/options-schema.ts';
import { didYouMean } from '../util/suggest.ts';
import { inCaseOf } from './document-case.ts';
import { readKind } from './manifest.ts';
import { withoutEmpties, withoutNulls } from './present-members.ts';
import type { Report } from './report.ts';
import { GROUPS } from './schema/envelope.ts';
import { KIND_SCHEMAS } from './schema/kinds.ts';
import { type DocumentCheck, documentCheck } from './validate.ts';
import type { YamlDocument } from './yaml-document.ts';

/** A document of a known kind that is valid against its schema. */
export interface Resource {
  readonly kind: string;
  /** `v1alpha1`, `v2alpha1`. */
  readonly version: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly scopes: readonly string[];
  /** As in the file; its shape was checked by the schema. */
  readonly spec: unknown;
  /** `auth.secretStore`. */
  readonly secretStore: string | undefined;
  readonly document: YamlDocument;
}

/** The fields of every manifest, once its schema was checked. */
interface Manifest {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: unknown;
  readonly scopes?: readonly string[];
  readonly auth?: { readonly secretStore?: string };
}

/** The application that resources are selected for. */
export interface Audience {
  /** `undefined` for all applications, when files are only checked. */
  readonly appId: string | undefined;
  /** If empty, no resource is excluded by its namespace. */
  readonly namespace: string;
}

const CHECKS: ReadonlyMap<string, DocumentCheck> = new Map(
  [...KIND_SCHEMAS].flatMap(([kind, versions]) =>
    [...versions].map(([version, schema]): [string, DocumentCheck] => [`${version} ${kind}`, documentCheck(schema)]),
  ),
);

/**
 * Reads a document as a resource. Notes documents of other kinds and reports invalid ones.
 *
 * @param inAnyCase - whether keys and kinds are understood in any case, as Dapr's are
 */
export function readResource(written: YamlDocument, report: Report, inAnyCase = false): Resource | undefined {
  const present = written.mapped(withoutNulls);
  const before = report.problems.length;
  const named = inAnyCase ? inCaseOf(present, ENVELOPE, report) : present;
  const manifest = readKind(named, report, inAnyCase);
  if (manifest === undefined) return undefined;
  const { apiVersion, kind } = manifest;
  const versions = KIND_SCHEMAS.get(kind) ?? new Map<string, object>();
  const [group = '', version = ''] = apiVersion.split('/', 2);
  const schema = GROUPS.some((known) => known === group) ? versions.get(version) : undefined;
  const check = CHECKS.get(`${version} ${kind}`);
  if (schema === undefined || check === undefined) {
    const known = [...versions.keys()].flatMap((one) => GROUPS.map((name) => `${name}/${one}`));
    const hint = didYouMean(apiVersion, known);
    const problem = `apiVersion ${JSON.stringify(apiVersion)} of ${kind}: expected ${known.join(', ')}${hint}`;
    report.problem(named.location(['apiVersion']), problem);
    return undefined;
  }
  const ofKind = named.mapped((value) => ({ ...Object(value), kind }));
  const inCase = inAnyCase ? inCaseOf(ofKind, schema, report) : ofKind;
  const document = inCase.mapped((value) => withoutEmpties(value, schema as JsonSchema));
  if (check(document, report).length > 0 || report.problems.length > before) return undefined;
  // The cast is safe: the schema was just checked.
  const { metadata, spec, scopes, auth } = document.value as Manifest;
  const { name, namespace } = metadata;
  return {
    kind,
    version,
    name,
    namespace,
    scopes: scopes ?? [],
    spec: spec ?? {},
    secretStore: auth?.secretStore,
    document,
  };
}

const ENVELOPE = { properties: { apiVersion: {}, kind: {} } };

/**
 * Excludes resources for other namespaces and applications, then reports duplicate names. Subscriptions apply to every
 * namespace, and a later one replaces an earlier one with the same name.
 */
export function selectResources(found: readonly Resource[], audience: Audience, report: Report): Resource[] {
  const selected: Resource[] = [];
  for (const resource of found) {
    if (!isFor(resource, audience)) continue;
    const earlier = selected.findIndex((other) => isTwin(other, resource));
    const first = selected[earlier];
    const location = resource.document.location(['metadata', 'name']);
    const name = JSON.stringify(resource.name);
    if (first === undefined) {
      selected.push(resource);
    } else if (resource.kind === 'Subscription') {
      report.note(location, `it replaces an earlier Subscription named ${name}`);
      selected[earlier] = resource;
    } else {
      const { file, line, column } = first.document.location(['metadata', 'name']);
      report.problem(location, `${resource.kind} ${name} is defined twice, first at ${file}:${line}:${column}`);
    }
  }
  return selected;
}

function isFor(resource: Resource, { appId, namespace }: Audience): boolean {
  const isElsewhere = namespace !== '' && (resource.namespace ?? namespace) !== namespace;
  if (isElsewhere && resource.kind !== 'Subscription') return false;
  return appId === undefined || resource.scopes.length === 0 || resource.scopes.includes(appId);
}

/** Whether two resources have the same kind and name and at least one application in common. */
function isTwin(one: Resource, other: Resource): boolean {
  if (one.kind !== other.kind || one.name !== other.name) return false;
  const isForAll = one.scopes.length === 0 || other.scopes.length === 0;
  return isForAll || one.scopes.some((appId) => other.scopes.includes(appId));
}
