import { messageOf, SidecarError } from '../../errors.ts';
import { jsonElements, jsonMembers } from '../../util/json-text.ts';
import { BOOLEAN, checkOptions, type OptionFields, required, TEXT, TEXTS } from '../../util/option-fields.ts';
import { readText } from '../../util/text-file.ts';
import type { SecretStore, SecretStoreDefinition, SecretValues } from '../secret-store.ts';

/** Options of {@link fileSecrets}. @public */
export interface FileSecretsOptions {
  /** The JSON file, read once at the start. At most 1 MiB. */
  readonly path: string;
  /** Joins the names of nested members: `db` and `password` to `db:password`. Default: `:`. */
  readonly nestedSeparator?: string | undefined;
  /** Whether the first level of the file is the secrets, and the levels below it are their keys. Default: `false`. */
  readonly multiValued?: boolean | undefined;
  /** App IDs that may use the component. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

const FIELDS: OptionFields<FileSecretsOptions> = {
  path: required(TEXT),
  nestedSeparator: TEXT,
  multiValued: BOOLEAN,
  scopes: TEXTS,
};

/** How deep secrets may be nested: each level is read again for the one above it. */
const MAX_DEPTH = 100;

/**
 * Secrets in a JSON file. Members of objects are joined by the separator, elements of lists by their index (`list:0`).
 * Numbers, booleans and `null` are their JSON text.
 *
 * @param name - the name used in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options; `start()` throws it for a file that cannot be used.
 * @public
 */
export function fileSecrets(name: string, options: FileSecretsOptions): SecretStoreDefinition {
  const what = `fileSecrets ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  return definitionOf(name, options.scopes, async () => {
    try {
      return new FileSecrets(await readText(options.path), options);
    } catch (cause) {
      const message = `the file ${JSON.stringify(options.path)} of ${what} cannot be used: ${messageOf(cause)}`;
      throw new SidecarError('ERR_CONFIGURATION', message, { cause });
    }
  });
}

/** The definition of secrets that have been read already. */
export function readSecrets(name: string, secrets: FileSecrets): SecretStoreDefinition {
  return definitionOf(name, undefined, async () => secrets);
}

function definitionOf(
  name: string,
  scopes: readonly string[] | undefined,
  open: () => Promise<SecretStore>,
): SecretStoreDefinition {
  const type = 'secretstores.local.file';
  return { block: 'secrets', name, type, version: 'v1', ...(scopes === undefined ? {} : { scopes }), open };
}

/** The secrets of a JSON text. */
export class FileSecrets implements SecretStore {
  readonly #secrets: ReadonlyMap<string, SecretValues>;

  /** @throws Error whose message says what is wrong, without any value. */
  constructor(json: string, options: Pick<FileSecretsOptions, 'nestedSeparator' | 'multiValued'>) {
    const { nestedSeparator = ':', multiValued = false } = options;
    const content = json.trim();
    this.#secrets = multiValued
      ? severalEach(checked(content), nestedSeparator)
      : oneEach(checked(content), nestedSeparator);
  }

  /** One value of a secret; `undefined` if there is none. */
  find(name: string, key: string): string | undefined {
    const values = this.#secrets.get(name);
    return values !== undefined && Object.hasOwn(values, key) ? values[key] : undefined;
  }

  async get(name: string): Promise<SecretValues | undefined> {
    return this.#secrets.get(name);
  }

  async all(): Promise<Readonly<Record<string, SecretValues>>> {
    return Object.fromEntries(this.#secrets);
  }

  async close(): Promise<void> {}
}

function checked(content: string): string {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    // The parser's message quotes the text, which is secret; so does the error itself as a cause.
    throw new Error('it is not JSON');
  }
  if (!content.startsWith('{')) throw new Error('it is not a JSON object');
  if (isDeep(value, 0)) throw new Error(`it is nested deeper than ${MAX_DEPTH} levels`);
  return content;
}

function isDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth > MAX_DEPTH || Object.values(value).some((inner) => isDeep(inner, depth + 1));
}

function oneEach(content: string, separator: string): Map<string, SecretValues> {
  const values = new Map<string, string>();
  flatten(content, '', separator, values);
  return new Map([...values].map(([name, value]) => [name, Object.fromEntries([[name, value]])]));
}

function severalEach(content: string, separator: string): Map<string, SecretValues> {
  const secrets = new Map<string, SecretValues>();
  for (const [name, secret] of membersOf(content)) {
    const values = new Map<string, string>();
    if (isNested(secret)) flatten(secret, '', separator, values);
    else values.set(name, textOf(secret));
    secrets.set(name, Object.fromEntries(values));
  }
  return secrets;
}

function flatten(json: string, prefix: string, separator: string, into: Map<string, string>): void {
  for (const [name, inner] of membersOf(json)) {
    const full = prefix === '' ? name : prefix + separator + name;
    if (isNested(inner)) flatten(inner, full, separator, into);
    else if (into.has(full)) throw new Error(`two of its members have the name ${JSON.stringify(full)}`);
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
