import type { JsonWebKeyInput } from 'node:crypto';
import { SidecarError } from '../errors.ts';
import { optionsSchema } from '../util/options-schema.ts';
import { validator } from '../util/schema.ts';

/** What a trust domain may be called, as SPIFFE has it. */
export const TRUST_DOMAIN = '^[A-Za-z0-9._-]{1,255}$';

/** HMAC with SHA-256 is as strong as its key only up to the length of the hash (RFC 7518, 3.2). */
export const MIN_SECRET_BYTES = 32;

/** A secret that several sidecars share; tokens are signed with HS256. @public */
export interface SharedKey {
  /** At least 32 bytes, best from a random generator; text counts as UTF-8. */
  readonly secret: string | Uint8Array;
  /** Names the key in tokens. Default: derived from the secret. */
  readonly kid?: string;
}

/** An Ed25519 key pair, or its public half; tokens are signed with EdDSA. @public */
export interface KeyPair {
  /** The private key, PEM (PKCS #8) or JWK: signs. Needed in the first of the keys. */
  readonly privateKey?: string | JsonWebKeyInput['key'];
  /** The public key, PEM (SPKI) or JWK: verifies. Default: the private key's. */
  readonly publicKey?: string | JsonWebKeyInput['key'];
  /** Names the key in tokens. Default: the key's thumbprint (RFC 7638). */
  readonly kid?: string;
}

/** A key of {@link IdentityOptions}. @public */
export type IdentityKey = SharedKey | KeyPair;

/** How sidecars prove to each other which application they belong to. @public */
export interface IdentityOptions {
  /**
   * The first signs, all verify. To change a key, add the new one as the second everywhere, then make it the first
   * everywhere, then take the old one away.
   *
   * Whoever holds one of these keys can claim to be any application, unless `peers` is set.
   */
  readonly keys: readonly IdentityKey[];
  /**
   * Which keys speak for which application: by app ID (in the own namespace) or `<appId>.<namespace>`. When it is set,
   * an application that is not listed is refused, and `keys` speak for the own application only.
   */
  readonly peers?: Readonly<Record<string, IdentityKey | readonly IdentityKey[]>>;
  /** The trust domain that the own tokens name. Default: that of `accessControl`, else `public`. */
  readonly trustDomain?: string;
}

const kid = { type: 'string', minLength: 1, maxLength: 128 } as const;
const asymmetric = { type: ['string', 'object'] };
const key = optionsSchema<IdentityKey>({ secret: {}, privateKey: asymmetric, publicKey: asymmetric, kid });
const keys = { type: 'array', minItems: 1, maxItems: 16, items: key };

/** Apart from the other options, whose messages show the value that is wrong. */
const problemOf = validator(
  optionsSchema<IdentityOptions>(
    {
      keys,
      peers: { type: 'object', additionalProperties: { type: ['object', 'array'] } },
      trustDomain: { type: 'string', pattern: TRUST_DOMAIN },
    },
    ['keys'],
  ),
  'options.identity',
  { secret: true },
);

const problemOfPeer = validator(keys, '', { secret: true });

/** @throws SidecarError `ERR_CONFIGURATION` naming the field, without its value. */
export function checkIdentityOptions(options: IdentityOptions): void {
  const problem = problemOf(options) ?? peerProblem(options.peers ?? {});
  if (problem !== undefined) throw new SidecarError('ERR_CONFIGURATION', problem);
}

function peerProblem(peers: NonNullable<IdentityOptions['peers']>): string | undefined {
  for (const [name, entries] of Object.entries(peers)) {
    const problem = problemOfPeer([entries].flat());
    if (problem !== undefined) return `options.identity.peers.${name}${problem}`;
  }
  return undefined;
}

/** The variable with a secret that several sidecars share, for those that are not given any keys. */
export const SECRET_VARIABLE = 'SIDECAR_IDENTITY_SECRET';

/**
 * The identity that the environment gives; empty counts as not set.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the variable, without its value.
 */
export function identityOf(environment: NodeJS.ProcessEnv): IdentityOptions | undefined {
  const secret = environment[SECRET_VARIABLE];
  if (!secret) return undefined;
  const length = Buffer.byteLength(secret);
  if (length >= MIN_SECRET_BYTES) return { keys: [{ secret }] };
  throw new SidecarError(
    'ERR_CONFIGURATION',
    `environment variable ${SECRET_VARIABLE} must have at least ${MIN_SECRET_BYTES} bytes: actual is ${length}`,
  );
}
