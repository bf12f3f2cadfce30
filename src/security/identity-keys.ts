import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type JsonWebKeyInput,
  type KeyObject,
} from 'node:crypto';
import { isUint8Array } from 'node:util/types';
import { SidecarError } from '../errors.ts';
import { type IdentityKey, type KeyPair, MIN_SECRET_BYTES, type SharedKey } from './identity-options.ts';

/** A validated key. Its algorithm is fixed: a token's header never chooses one. */
export interface ReadKey {
  readonly kid: string;
  readonly algorithm: 'HS256' | 'EdDSA';
  readonly verifying: KeyObject;
  /** Absent for a public key. */
  readonly signing: KeyObject | undefined;
}

/**
 * Reads a key; `where` names it in messages, which never show any part of it.
 *
 * @throws SidecarError `ERR_CONFIGURATION`
 */
export function readKey(key: IdentityKey, where: string): ReadKey {
  return 'secret' in key ? readSharedKey(key, where) : readKeyPair(key, where);
}

function readSharedKey({ secret, kid }: SharedKey, where: string): ReadKey {
  if (typeof secret !== 'string' && !isUint8Array(secret)) throw invalid(`${where}.secret must be text or bytes`);
  const bytes = Buffer.from(secret);
  if (bytes.length < MIN_SECRET_BYTES)
    throw invalid(`${where}.secret must have at least ${MIN_SECRET_BYTES} bytes: actual is ${bytes.length}`);
  const key = createSecretKey(bytes);
  return { kid: kid ?? fingerprint(bytes), algorithm: 'HS256', verifying: key, signing: key };
}

/** Reveals no more about the secret than a token signed with it. */
function fingerprint(secret: Buffer): string {
  return createHmac('sha256', secret).update('insidecar key id').digest('base64url').slice(0, 16);
}

function readKeyPair({ privateKey, publicKey, kid }: KeyPair, where: string): ReadKey {
  if (privateKey === undefined && publicKey === undefined)
    throw invalid(`${where} must have a secret, a privateKey or a publicKey`);
  const signing = privateKey && ed25519(createPrivateKey, privateKey, `${where}.privateKey`);
  const derived = signing && createPublicKey(signing);
  const given = publicKey && ed25519(publicOnly, publicKey, `${where}.publicKey`);
  if (given && derived && !given.equals(derived))
    throw invalid(`${where}.publicKey must be that of ${where}.privateKey: it is another's`);
  const verifying = given || derived;
  if (!verifying) throw invalid(`${where} must have a secret, a privateKey or a publicKey: actual is empty`);
  return { kid: kid ?? thumbprint(verifying), algorithm: 'EdDSA', verifying, signing: signing || undefined };
}

type KeyInput = string | { key: JsonWebKeyInput['key']; format: 'jwk' };

function ed25519(read: (input: KeyInput) => KeyObject, key: string | JsonWebKeyInput['key'], where: string): KeyObject {
  let object: KeyObject;
  try {
    object = read(typeof key === 'string' ? key : { key, format: 'jwk' });
  } catch {
    // Show neither the key nor OpenSSL's message about it.
    throw invalid(`${where} cannot be read: expected an Ed25519 key as PEM or JWK`);
  }
  if (object.asymmetricKeyType !== 'ed25519')
    throw invalid(`${where} must be an Ed25519 key: actual is ${object.asymmetricKeyType}`);
  return object;
}

/** Node silently derives a public key from a private one; a private key in this place is a mistake to report. */
function publicOnly(input: KeyInput): KeyObject {
  const isPrivate = typeof input === 'string' ? input.includes('PRIVATE KEY') : input.key.d !== undefined;
  if (isPrivate) throw new Error('a private key where a public one belongs');
  return createPublicKey(input);
}

/** RFC 7638: the digest of the key's required members, in lexicographic order. */
function thumbprint(key: KeyObject): string {
  const { crv, kty, x } = key.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url');
}

function invalid(message: string): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', message);
}
