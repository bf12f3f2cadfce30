import type { JsonWebKeyInput } from 'node:crypto';
import { SidecarError } from '../errors.ts';
import { optionsSchema } from '../util/options-schema.ts';
import { validator } from '../util/schema.ts';

/** The pattern of trust domains, following SPIFFE. */
export const TRUST_DOMAIN = '^[A-Za-z0-9._-]{1,255}$';

/** The strength of HMAC with SHA-256 is limited by its key up to the length of the hash (RFC 7518, 3.2). */
export const MIN_SECRET_BYTES = 32;

/** A secret shared by several sidecars; tokens are signed with HS256. @public */
export interface SharedKey {
  /** At least 32 bytes, preferably random; text is encoded as UTF-8. */
  readonly secret: string | Uint8Array;
  /** The key's name in tokens. Default: derived from the secret. */
  readonly kid?: string | undefined;
}

/** An Ed25519 key pair, or its public half; tokens are signed with EdDSA. @public */
export interface KeyPair {
  /** The private key for signing, PEM (PKCS #8) or JWK. Required in the first of the keys. */
  readonly privateKey?: string | JsonWebKeyInput['key'] | undefined;
  /** The public key for verifying, PEM (SPKI) or JWK. Default: that of the private key. */
  readonly publicKey?: string | JsonWebKeyInput['key'] | undefined;
  /** The key's name in tokens. Default: its thumbprint (RFC 7638). */
  readonly kid?: string | undefined;
}

/** A key of {@link IdentityOptions}. @public */
export type IdentityKey = SharedKey | KeyPair;

/** How sidecars authenticate their applications to each other. @public */
export interface IdentityOptions {
  /**
   * The first key signs, all verify. To rotate keys, add the new one as the second everywhere, then make it the first
   * everywhere, then remove the old one.
   *
   * Unless `peers` is set, a holder of any of these keys can impersonate any application.
   */
  readonly keys: readonly IdentityKey[];
  /**
   * The keys of each application: by app ID (in the own namespace) or `<appId>.<namespace>`. If set, unlisted
   * applications are rejected, and `keys` authenticate only the own application.
   */
  readonly peers?: Readonly<Record<string, IdentityKey | readonly IdentityKey[]>> | undefined;
  /** The trust domain in the own tokens. Default: that of `accessControl`, else `public`. */
  readonly trustDomain?: string | undefined;
}

const kid = { type: 'string', minLength: 1, maxLength: 128 } as const;
const asymmetric = { type: ['string', 'object'] };
const key = optionsSchema<IdentityKey>({ secret: {}, privateKey: asymmetric, publicKey: asymmetric, kid });
const keys = { type: 'array', minItems: 1, maxItems: 16, items: key };

/** Validated separately: messages about other options show the wrong value. */
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

/** The environment variable with a shared secret, used if no keys are given. */
export const SECRET_VARIABLE = 'SIDECAR_IDENTITY_SECRET';

/**
 * The identity from the environment; an empty variable counts as not set.
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
