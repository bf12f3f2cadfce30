import { TRUST_DOMAIN } from '../../security/identity-options.ts';
import type { ValueSource } from './component.ts';
import { text, valueFields } from './envelope.ts';

const source = {
  type: 'object',
  additionalProperties: false,
  // Messages must not repeat a literal key.
  isSecret: true,
  properties: {
    ...valueFields,
    file: {
      type: 'string',
      minLength: 1,
      description: 'A file, relative to the working directory or else to this file.',
    },
  },
};

const key = {
  type: 'object',
  additionalProperties: false,
  isSecret: true,
  properties: {
    secret: { ...source, description: 'A shared secret of at least 32 bytes.' },
    privateKey: { ...source, description: 'An Ed25519 private key in PEM.' },
    publicKey: { ...source, description: 'An Ed25519 public key in PEM.' },
    kid: { ...text, description: 'The name of the key in tokens. Default: derived from the key.' },
  },
};

const keys = { type: 'array', minItems: 1, maxItems: 16, items: key };

/** `spec.identity` of a Configuration. */
export const IDENTITY_SCHEMA: object = {
  type: 'object',
  additionalProperties: false,
  required: ['keys'],
  properties: {
    keys: { ...keys, description: 'The first key signs; all keys verify.' },
    peers: {
      type: 'object',
      additionalProperties: keys,
      description: 'The keys of other applications, by app ID or <app ID>.<namespace>.',
    },
    trustDomain: { type: 'string', pattern: TRUST_DOMAIN, description: 'Default: that of accessControl, else public.' },
  },
};

/** A part of a key: literal, or from a secret store, the environment or a file. */
export interface KeySource extends ValueSource {
  readonly file?: string;
}

/** A key in a file. */
export interface KeySpec {
  readonly secret?: KeySource;
  readonly privateKey?: KeySource;
  readonly publicKey?: KeySource;
  readonly kid?: string;
}

/** `spec.identity` in a file. */
export interface IdentitySpec {
  readonly keys: readonly KeySpec[];
  readonly peers?: Readonly<Record<string, readonly KeySpec[]>>;
  readonly trustDomain?: string;
}
