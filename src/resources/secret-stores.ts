import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { jsonElements, jsonMembers } from '../util/json-text.ts';
import type { Report } from './report.ts';
import type { YamlDocument } from './yaml-document.ts';
import { readTextFile } from './yaml-file.ts';

/** How deep secrets may be nested: each level is read again for the one above it. */
const MAX_DEPTH = 100;

/** A source of secrets; `undefined` if there is no secret of that name and key. */
export interface SecretStore {
  get(name: string, key: string): string | undefined;
}

/** Whether resource files may read an environment variable: not those with the sidecar's tokens. */
export function mayReadVariable(name: string): boolean {
  return name !== '' && !/\s/.test(name) && name !== 'APP_API_TOKEN' && !/^(DAPR|SIDECAR)_/i.test(name);
}

/** Reads a variable, ignoring inherited properties. */
export function readVariable(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined;
}

/** `secretstores.local.env`: environment variables whose names start with `prefix`. */
export function environmentSecrets(environment: NodeJS.ProcessEnv, prefix: string): SecretStore {
  return {
    get: (name, key) => {
      const variable = prefix + name;
      return key === name && mayReadVariable(variable) ? readVariable(environment, variable) : undefined;
    },
  };
}

/** The settings of `secretstores.local.file`. */
export interface SecretFile {
  readonly secretsFile: string;
  /** Separates the names of nested objects. */
  readonly nestedSeparator: string;
  /** Whether secrets are the top level and everything below them is their keys. */
  readonly multiValued: boolean;
}

/** Where a resource's file may be: relative to the working directory, as with Dapr, or beside the resource file. */
export interface SecretFileLocation {
  readonly document: YamlDocument;
  readonly workingDirectory: string;
}

/** The path of a file named by a resource. */
export async function fileBeside(path: string, { document, workingDirectory }: SecretFileLocation): Promise<string> {
  const fromHere = resolve(workingDirectory, path);
  const isHere = await stat(fromHere).then(
    () => true,
    () => false,
  );
  return isHere ? fromHere : resolve(dirname(document.file), path);
}

/** `secretstores.local.file`: a JSON file. Problems are reported at the component, without the file's content. */
export async function fileSecrets(
  settings: SecretFile,
  location: SecretFileLocation,
  report: Report,
): Promise<SecretStore | undefined> {
  const { document } = location;
  const text = await readTextFile(await fileBeside(settings.secretsFile, location), report);
  if (text === undefined) return undefined;
  try {
    const content = text.trim();
    if (!content.startsWith('{') || isDeep(JSON.parse(content), 0)) throw new Error('no object, or too deep');
    return storeOf(content, settings);
  } catch {
    // The parser's message quotes the text, which is secret.
    report.problem(
      document.location(['spec', 'metadata']),
      `${settings.secretsFile} is not a JSON object that can be used`,
    );
    return undefined;
  }
}

function isDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth > MAX_DEPTH || Object.values(value).some((inner) => isDeep(inner, depth + 1));
}

function storeOf(content: string, { nestedSeparator, multiValued }: SecretFile): SecretStore {
  if (!multiValued) {
    const values = new Map<string, string>();
    flatten(content, '', nestedSeparator, values);
    return { get: (name, key) => (key === name ? values.get(name) : undefined) };
  }
  const secrets = new Map<string, Map<string, string>>();
  for (const [name, secret] of membersOf(content)) {
    const values = new Map<string, string>();
    if (isNested(secret)) flatten(secret, '', nestedSeparator, values);
    else values.set(name, textOf(secret));
    secrets.set(name, values);
  }
  return { get: (name, key) => secrets.get(name)?.get(key) };
}

function flatten(json: string, prefix: string, separator: string, into: Map<string, string>): void {
  for (const [name, inner] of membersOf(json)) {
    const full = prefix === '' ? name : prefix + separator + name;
    if (isNested(inner)) flatten(inner, full, separator, into);
    else into.set(full, textOf(inner));
  }
}

/** The texts of the members of an object, of which the last of a name counts, or of an array, by their index. */
function membersOf(json: string): Iterable<[string, string]> {
  if (json.startsWith('[')) return jsonElements(json).map((element, index) => [String(index), element]);
  return new Map(jsonMembers(json).map(({ key, value }) => [key, value]));
}

function isNested(json: string): boolean {
  return json.startsWith('{') || json.startsWith('[');
}

/** A number as it is written: it may have more digits than JavaScript's numbers. */
function textOf(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}
