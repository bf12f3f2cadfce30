import { mayReadVariable, readVariable } from '../components/local/environment-secrets.ts';
import type { Report } from './report.ts';
import type { ValueSource } from './schema/component.ts';
import { fieldName } from './validate.ts';
import type { YamlDocument, YamlPath } from './yaml-document.ts';

/** A secret store as resource files use it. */
export interface SecretLookup {
  /** A value of a secret; `undefined` if there is none. */
  find(name: string, key: string): string | undefined;
}

/** The sources of values that are not literal. */
export interface ValueOrigins {
  readonly environment: NodeJS.ProcessEnv;
  readonly secretStores: ReadonlyMap<string, SecretLookup>;
  readonly appId: string;
  readonly namespace: string;
  readonly newId: () => string;
}

/** The location of a value: its document and path, and the secret store of its resource. */
export interface ValueLocation {
  readonly document: YamlDocument;
  readonly path: YamlPath;
  readonly secretStore: string | undefined;
}

/** Resolves the text of a value; reports a missing one. */
export function resolveValue(
  source: ValueSource,
  { document, path, secretStore }: ValueLocation,
  origins: ValueOrigins,
  report: Report,
): string | undefined {
  const { value, secretKeyRef, envRef } = givenSource(source);
  const given = Object.entries({ value, secretKeyRef, envRef }).flatMap(([name, part]) =>
    part === undefined ? [] : name,
  );
  const field = fieldName(path);
  if (given.length > 1) {
    report.problem(document.location(path), `${field} has ${given.join(' and ')}: expected one of them`);
    return undefined;
  }
  if (envRef !== undefined) {
    const at = document.location([...path, 'envRef']);
    if (!mayReadVariable(envRef)) {
      report.problem(at, `${field}.envRef ${JSON.stringify(envRef)} may not be read by resource files`);
      return undefined;
    }
    const found = readVariable(origins.environment, envRef);
    if (found === undefined) report.problem(at, `${field}.envRef: environment variable ${envRef} is not set`);
    return found;
  }
  if (secretKeyRef !== undefined) {
    const { name, key } = secretKeyRef;
    const at = document.location([...path, 'secretKeyRef']);
    if (!name) {
      report.problem(at, `${field}.secretKeyRef.name is missing`);
      return undefined;
    }
    const problem = storeProblem(secretStore, origins);
    const found =
      secretStore === undefined ? undefined : origins.secretStores.get(secretStore)?.find(name, key || name);
    const full = key ? `${JSON.stringify(name)}, key ${JSON.stringify(key)},` : JSON.stringify(name);
    if (problem !== undefined) report.problem(at, `${field}.secretKeyRef: ${problem}`);
    else if (found === undefined)
      report.problem(at, `${field}.secretKeyRef: ${full} is not in ${JSON.stringify(secretStore)}`);
    return found;
  }
  if (value === undefined) return '';
  const written = typeof value === 'number' ? (document.text([...path, 'value']) ?? String(value)) : String(value);
  return fillTemplate(written, origins);
}

/** Tools write all fields out: an empty one beside another stands for none, as in Dapr. */
function givenSource({ value, secretKeyRef, envRef }: ValueSource): Given {
  const filled = {
    value: value === '' ? undefined : value,
    secretKeyRef: secretKeyRef?.name ? secretKeyRef : undefined,
    envRef: envRef || undefined,
  };
  if (Object.values(filled).some((part) => part !== undefined)) return filled;
  if (value !== undefined) return { value };
  return secretKeyRef === undefined ? { envRef } : { secretKeyRef };
}

type Given = { readonly [Part in keyof ValueSource]?: ValueSource[Part] | undefined };

function storeProblem(secretStore: string | undefined, { secretStores }: ValueOrigins): string | undefined {
  if (secretStore === undefined || secretStore === '') return 'auth.secretStore is missing, which says where to look';
  return secretStores.has(secretStore)
    ? undefined
    : `there is no secret store ${JSON.stringify(secretStore)} for this application`;
}

/** Replaces Dapr's names in braces; others stay unchanged. */
function fillTemplate(text: string, { appId, namespace, environment, newId }: ValueOrigins): string {
  return text.replaceAll(/\{(uuid|podName|namespace|appID)\}/g, (_, name: string) => {
    if (name === 'uuid') return newId();
    if (name === 'podName') return environment['POD_NAME'] ?? '';
    if (name === 'appID') return appId;
    return `${namespace || 'default'}.${appId}`;
  });
}
