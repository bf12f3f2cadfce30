import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { makeIdentity } from '../security/identity.ts';
import type { IdentityKey, IdentityOptions } from '../security/identity-options.ts';
import { systemClock } from '../util/clock.ts';
import { fileBeside } from './file-beside.ts';
import type { Report } from './report.ts';
import type { Resource } from './resource.ts';
import type { IdentitySpec, KeySource, KeySpec } from './schema/identity.ts';
import { fieldName } from './validate.ts';
import { resolveValue, type ValueOrigins } from './values.ts';
import type { YamlPath } from './yaml-document.ts';
import { readTextFile } from './yaml-file.ts';

export interface IdentityOrigins extends ValueOrigins {
  readonly workingDirectory: string;
}

/** The parts of a key, and whether they are secret. */
const PARTS = [
  { part: 'secret', isSecret: true },
  { part: 'privateKey', isSecret: true },
  { part: 'publicKey', isSecret: false },
] as const;
const READABLE_BY_ALL = 0o004;

/** Reads the identity of a Configuration. Problems are reported without showing any part of a key. */
export async function readIdentity(
  { keys, peers, trustDomain }: IdentitySpec,
  resource: Resource,
  origins: IdentityOrigins,
  report: Report,
): Promise<IdentityOptions | undefined> {
  const reader = new KeyReader(resource, origins, report);
  const before = report.problems.length;
  const own = await reader.keysAt(keys, ['keys']);
  const others: [name: string, keys: IdentityKey[]][] = [];
  for (const [name, entries] of Object.entries(peers ?? {}))
    others.push([name, await reader.keysAt(entries, ['peers', name])]);
  if (report.problems.length > before) return undefined;
  return {
    keys: own,
    ...(peers === undefined ? {} : { peers: Object.fromEntries(others) }),
    ...(trustDomain === undefined ? {} : { trustDomain }),
  };
}

/** @throws SidecarError if the sidecar could not use it. */
export function tryIdentity(identity: IdentityOptions, { appId, namespace }: ValueOrigins): void {
  makeIdentity(identity, { appId, namespace: namespace || 'default', clock: systemClock, newId: randomUUID });
}

class KeyReader {
  readonly #resource: Resource;
  readonly #origins: IdentityOrigins;
  readonly #report: Report;

  constructor(resource: Resource, origins: IdentityOrigins, report: Report) {
    this.#resource = resource;
    this.#origins = origins;
    this.#report = report;
  }

  async keysAt(specs: readonly KeySpec[], at: YamlPath): Promise<IdentityKey[]> {
    const keys: IdentityKey[] = [];
    for (const [index, spec] of specs.entries()) keys.push(await this.#key(spec, ['spec', 'identity', ...at, index]));
    return keys;
  }

  async #key(spec: KeySpec, path: YamlPath): Promise<IdentityKey> {
    const key: Record<string, string> = spec.kid === undefined ? {} : { kid: spec.kid };
    for (const { part, isSecret } of PARTS) {
      const source = spec[part];
      const text = source && (await this.#text(source, [...path, part], isSecret));
      if (text !== undefined) key[part] = text;
    }
    // Whether the parts belong to one kind of key is checked when it is tried out.
    return key as unknown as IdentityKey;
  }

  async #text({ file, ...source }: KeySource, path: YamlPath, isSecret: boolean): Promise<string | undefined> {
    const { document, secretStore } = this.#resource;
    if (file === undefined) return resolveValue(source, { document, path, secretStore }, this.#origins, this.#report);
    const at = document.location([...path, 'file']);
    if (Object.keys(source).length > 0) {
      const names = ['file', ...Object.keys(source)].join(' and ');
      this.#report.problem(document.location(path), `${fieldName(path)} has ${names}: expected one of them`);
      return undefined;
    }
    const found = await fileBeside(file, { document, workingDirectory: this.#origins.workingDirectory });
    const text = await readTextFile(found, this.#report);
    if (text !== undefined && isSecret && (await isReadableByAll(found)))
      this.#report.note(at, `${file} can be read by every user of this host: expected mode 600`);
    return text?.replace(/\r?\n$/, '');
  }
}

async function isReadableByAll(file: string): Promise<boolean> {
  return process.platform !== 'win32' && ((await stat(file)).mode & READABLE_BY_ALL) !== 0;
}
