import { didYouMean } from '../util/suggest.ts';
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
  readonly spec: unknown;
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

/** A multi-app file has `apps` instead of a kind. */
function isRunFile(value: unknown): boolean {
  const { apiVersion, kind, apps } = Object(value) as Readonly<Record<string, unknown>>;
  return apiVersion === undefined && kind === undefined && apps !== undefined;
}

/** Reads a document as a resource. Notes documents of other kinds and reports invalid ones. */
export function readResource(document: YamlDocument, report: Report): Resource | undefined {
  if (isRunFile(document.value)) {
    report.note(document.location(), 'it is a multi-app file, for --run-file: it is not used as a resource');
    return undefined;
  }
  const { apiVersion, kind } = Object(document.value) as Readonly<Record<string, unknown>>;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    const missing = typeof apiVersion === 'string' ? 'kind' : 'apiVersion';
    report.problem(
      document.location([missing]),
      `${missing} is missing or no text: a resource has apiVersion and kind`,
    );
    return undefined;
  }
  const versions = KIND_SCHEMAS.get(kind);
  const [group = '', version = ''] = apiVersion.split('/', 2);
  if (!GROUPS.some((known) => known === group) && versions === undefined && didYouMean(group, GROUPS) === '') {
    report.note(document.location(), `${apiVersion} ${kind} is not a resource of a sidecar: it is not used`);
    return undefined;
  }
  if (versions === undefined) {
    const hint = didYouMean(kind, KIND_SCHEMAS.keys());
    const known = [...KIND_SCHEMAS.keys()].join(', ');
    report.problem(document.location(['kind']), `unknown kind ${JSON.stringify(kind)}: expected ${known}${hint}`);
    return undefined;
  }
  const check = GROUPS.some((known) => known === group) ? CHECKS.get(`${version} ${kind}`) : undefined;
  if (check === undefined) {
    const known = [...versions.keys()].flatMap((one) => GROUPS.map((name) => `${name}/${one}`));
    const location = document.location(['apiVersion']);
    const hint = didYouMean(apiVersion, known);
    report.problem(
      location,
      `apiVersion ${JSON.stringify(apiVersion)} of ${kind}: expected ${known.join(', ')}${hint}`,
    );
    return undefined;
  }
  if (check(document, report).length > 0) return undefined;
  // The cast is safe: the schema was just checked.
  const { metadata, spec, scopes, auth } = document.value as Manifest;
  const { name, namespace } = metadata;
  return { kind, version, name, namespace, scopes: scopes ?? [], spec, secretStore: auth?.secretStore, document };
}

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
