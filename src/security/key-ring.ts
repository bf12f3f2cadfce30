import type { KeyObject } from 'node:crypto';
import { SidecarError } from '../errors.ts';
import { type ReadKey, readKey } from './identity-keys.ts';
import type { IdentityKey, IdentityOptions } from './identity-options.ts';

interface AppName {
  readonly appId: string;
  readonly namespace: string;
}

/** All keys of a sidecar and the applications that each may speak for. */
export class KeyRing {
  readonly signer: ReadKey & { readonly signing: KeyObject };
  readonly #byKid = new Map<string, ReadKey>();
  /** The applications of each key, by kid. Absent: every key speaks for every application. */
  readonly #bound: Map<string, Set<string>> | undefined;

  constructor(signer: ReadKey & { readonly signing: KeyObject }, isBound: boolean) {
    this.signer = signer;
    this.#bound = isBound ? new Map() : undefined;
  }

  /** Adds a key of an application. A key may be added more than once, but two keys must not share a kid. */
  add(key: ReadKey, app: AppName, where: string): void {
    const known = this.#byKid.get(key.kid);
    if (known !== undefined && !known.verifying.equals(key.verifying))
      throw invalid(`${where}.kid ${JSON.stringify(key.kid)} is also that of another key`);
    this.#byKid.set(key.kid, known ?? key);
    const apps = this.#bound?.get(key.kid) ?? new Set();
    this.#bound?.set(key.kid, apps.add(entryOf(app)));
  }

  /** The key with the kid of a token's header; no other header field is trusted. */
  find(kid: unknown): ReadKey | undefined {
    return typeof kid === 'string' ? this.#byKid.get(kid) : undefined;
  }

  speaksFor(key: ReadKey, app: AppName): boolean {
    return this.#bound === undefined || this.#bound.get(key.kid)?.has(entryOf(app)) === true;
  }
}

/** Reads all keys of the options. @throws SidecarError `ERR_CONFIGURATION` */
export function readKeys({ keys, peers }: IdentityOptions, own: AppName): KeyRing {
  const where = 'options.identity.keys.0';
  const [first] = keys;
  if (first === undefined) throw invalid('options.identity.keys must have at least one key');
  const key = readKey(first, where);
  const { signing } = key;
  if (signing === undefined) throw invalid(`${where} must have a privateKey or a secret: the first of the keys signs`);
  const ring = new KeyRing({ ...key, signing }, peers !== undefined);
  for (const [index, entry] of keys.entries()) {
    const at = `options.identity.keys.${index}`;
    ring.add(readKey(entry, at), own, at);
  }
  for (const [name, entries] of Object.entries(peers ?? {})) addPeer(ring, name, entries, own);
  return ring;
}

function addPeer(
  ring: KeyRing,
  name: string,
  entries: IdentityKey | readonly IdentityKey[],
  { namespace: ownNamespace }: AppName,
): void {
  const where = `options.identity.peers.${name}`;
  const [appId, namespace = ownNamespace, ...more] = name.split('.');
  if (!appId || namespace === '' || more.length > 0 || name.includes('/'))
    throw invalid(
      `options.identity.peers has the name ${JSON.stringify(name)}: expected <appId> or <appId>.<namespace>`,
    );
  const keys = [entries].flat() as readonly IdentityKey[];
  if (keys.length === 0) throw invalid(`${where} must have at least one key`);
  for (const [index, key] of keys.entries()) {
    const at = Array.isArray(entries) ? `${where}.${index}` : where;
    ring.add(readKey(key, at), { appId, namespace }, at);
  }
}

function entryOf({ appId, namespace }: AppName): string {
  return `${namespace}/${appId}`;
}

function invalid(message: string): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', message);
}
