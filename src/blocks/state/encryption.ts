import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { EncryptionKey, StateStoreOptions } from '../../components/key-value.ts';
import { asBuffer } from '../../http/body.ts';
import { StateFailure } from './errors.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SEPARATOR = '||';
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * Encrypts the values of a store, with AES-GCM: `base64(nonce; ciphertext; tag) || "||" || <name of the key>`. Values are
 * read with the key that they name.
 */
export class ValueCipher {
  readonly #primary: EncryptionKey;
  readonly #keys: ReadonlyMap<string, Buffer>;

  constructor(primary: EncryptionKey, secondary: EncryptionKey | undefined) {
    this.#primary = primary;
    const keys = new Map<string, Buffer>();
    // Of two keys of one name, new values use the first.
    for (const one of [secondary, primary]) if (one !== undefined) keys.set(one.name, Buffer.from(one.key, 'hex'));
    this.#keys = keys;
  }

  encrypt(value: Uint8Array): Uint8Array {
    const { name } = this.#primary;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(algorithmOf(this.#keyOf(name)), this.#keyOf(name), nonce);
    const sealed = Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
    return Buffer.from(sealed.toString('base64') + SEPARATOR + name);
  }

  /** @throws StateFailure for a value that is not of this form, or of a key that is not known */
  decrypt(stored: Uint8Array): Uint8Array {
    const text = asBuffer(stored).toString();
    const end = text.indexOf(SEPARATOR);
    const [sealed, name] = [text.slice(0, Math.max(0, end)), text.slice(end + SEPARATOR.length)];
    if (end < 0 || !BASE64.test(sealed)) throw new StateFailure('the value is not encrypted');
    const bytes = Buffer.from(sealed, 'base64');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new StateFailure('the encrypted value is too short');
    const key = this.#keyOf(name);
    const cipher = createDecipheriv(algorithmOf(key), key, bytes.subarray(0, NONCE_BYTES));
    cipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      return Buffer.concat([cipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), cipher.final()]);
    } catch {
      throw new StateFailure('the encrypted value does not verify: it was changed, or encrypted with another key');
    }
  }

  #keyOf(name: string): Buffer {
    const key = this.#keys.get(name);
    if (key === undefined)
      throw new StateFailure(`the value is encrypted with a key that is not known: ${quoted(name)}`);
    return key;
  }
}

/** The cipher of a store; `undefined` if its values are not encrypted. */
export function cipherOf({ primaryEncryptionKey, secondaryEncryptionKey }: StateStoreOptions): ValueCipher | undefined {
  return primaryEncryptionKey && new ValueCipher(primaryEncryptionKey, secondaryEncryptionKey);
}

function algorithmOf(key: Buffer): 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm' {
  if (key.length === 16) return 'aes-128-gcm';
  return key.length === 24 ? 'aes-192-gcm' : 'aes-256-gcm';
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}
