import type { errors as JoseErrors } from 'jose';
import { isError, SidecarError } from '../errors.ts';
import type { Clock } from '../util/clock.ts';
import { checkIdentityOptions, type IdentityOptions } from './identity-options.ts';
import { type KeyRing, readKeys } from './key-ring.ts';
import { TokenCache } from './token-cache.ts';

/** A caller authenticated by a token. */
export interface Caller {
  readonly appId: string;
  readonly namespace: string;
  readonly trustDomain: string;
}

/** Authenticates this sidecar to others, and others to this one. */
export interface Identity {
  /** A token for one callee; reused for half of its lifetime. */
  sign(audience: Pick<Caller, 'appId' | 'namespace'>): Promise<string>;
  /**
   * The signer of a token made for this application.
   *
   * @throws SidecarError `ERR_UNAUTHORIZED`, which never shows the token.
   */
  verify(token: string): Promise<Caller>;
}

export interface IdentityDeps {
  readonly appId: string;
  readonly namespace: string;
  readonly clock: Clock;
  readonly newId: () => string;
  /** The trust domain if the options name none. Default: `public`. */
  readonly trustDomain?: string | undefined;
}

const LIFE_SECONDS = 60;
const SKEW_SECONDS = 30;
/** Our tokens have about 400 characters; longer ones are not even decoded. */
const MAX_TOKEN_LENGTH = 2_048;
/** Distinguishes these tokens from others signed with the same key. */
const TOKEN_TYPE = 'insidecar-identity+jwt';
/** Max cached tokens: per callee when signing, per token when verifying. */
const KEPT_TOKENS = 1_000;

/**
 * Makes the identity of a sidecar.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the unusable key and why.
 */
export function makeIdentity(options: IdentityOptions, deps: IdentityDeps): Identity {
  checkIdentityOptions(options);
  const { appId, namespace } = deps;
  return new SignedIdentity(
    readKeys(options, { appId, namespace }),
    options.trustDomain ?? deps.trustDomain ?? 'public',
    deps,
  );
}

/** Loaded with the first token: most sidecars have no keys and start faster without its 46 files. */
function loadJose(): Promise<typeof import('jose')> {
  return import('jose');
}

class SignedIdentity implements Identity {
  readonly #ring: KeyRing;
  readonly #trustDomain: string;
  readonly #deps: IdentityDeps;
  readonly #name: string;
  /** By callee. A signature takes 165 µs, a look-up 0.2: calls to one callee share a token. */
  readonly #signed = new TokenCache<Promise<string>>(KEPT_TOKENS);
  /** By token, for the same reason (210 µs). Only verified tokens are kept, and only while they are valid. */
  readonly #verified = new TokenCache<Caller>(KEPT_TOKENS);

  constructor(ring: KeyRing, trustDomain: string, deps: IdentityDeps) {
    this.#ring = ring;
    this.#trustDomain = trustDomain;
    this.#deps = deps;
    this.#name = nameOf(deps);
  }

  sign(audience: Pick<Caller, 'appId' | 'namespace'>): Promise<string> {
    const callee = nameOf(audience);
    const now = this.#deps.clock.now();
    const kept = this.#signed.get(callee, now);
    if (kept !== undefined) return kept;
    const token = this.#sign(callee, Math.floor(now / 1000));
    this.#signed.set(callee, token, { from: now, until: now + (LIFE_SECONDS * 1000) / 2 });
    token.catch(() => this.#signed.delete(callee));
    return token;
  }

  async #sign(callee: string, issuedAt: number): Promise<string> {
    const { SignJWT } = await loadJose();
    const { kid, algorithm, signing } = this.#ring.signer;
    return new SignJWT()
      .setProtectedHeader({ alg: algorithm, kid, typ: TOKEN_TYPE })
      .setIssuer(this.#trustDomain)
      .setSubject(this.#name)
      .setAudience(callee)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + LIFE_SECONDS)
      .setJti(this.#deps.newId())
      .sign(signing);
  }

  async verify(token: string): Promise<Caller> {
    if (token.length > MAX_TOKEN_LENGTH) throw refused(`is longer than ${MAX_TOKEN_LENGTH} characters`);
    const now = this.#deps.clock.now();
    const kept = this.#verified.get(token, now);
    if (kept !== undefined) return kept;
    const { caller, expiresAt } = await this.#verify(token, now);
    this.#verified.set(token, caller, { from: now, until: (expiresAt + SKEW_SECONDS) * 1000 });
    return caller;
  }

  async #verify(token: string, now: number): Promise<{ caller: Caller; expiresAt: number }> {
    const { decodeProtectedHeader, errors, jwtVerify } = await loadJose();
    try {
      const key = this.#ring.find(decodeProtectedHeader(token).kid);
      if (key === undefined) throw refused('is signed with an unknown key');
      const { payload } = await jwtVerify(token, key.verifying, {
        algorithms: [key.algorithm],
        typ: TOKEN_TYPE,
        audience: this.#name,
        currentDate: new Date(now),
        clockTolerance: SKEW_SECONDS,
        maxTokenAge: LIFE_SECONDS,
        requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'jti'],
      });
      const { iss, sub, exp = 0, iat = 0 } = payload;
      const caller = callerOf(iss, sub);
      if (caller === undefined) throw refused('does not name an application');
      if (!this.#ring.speaksFor(key, caller)) throw refused('is signed with a key of another application');
      return { caller, expiresAt: Math.min(exp, iat + LIFE_SECONDS) };
    } catch (error) {
      throw error instanceof errors.JOSEError || (isError(error) && error.name === 'TypeError')
        ? refused(reasonOf(error, errors), error)
        : error;
    }
  }
}

/** No part contains a slash, so different pairs have different names. */
function nameOf({ appId, namespace }: Pick<Caller, 'appId' | 'namespace'>): string {
  return `${namespace}/${appId}`;
}

const NAME = /^([^/]{1,256})\/([^/]{1,256})$/;

function callerOf(trustDomain: unknown, name: unknown): Caller | undefined {
  if (typeof trustDomain !== 'string' || trustDomain === '' || typeof name !== 'string') return undefined;
  const [, namespace, appId] = NAME.exec(name) ?? [];
  return namespace === undefined || appId === undefined ? undefined : { appId, namespace, trustDomain };
}

/** Our own messages: the library's may quote the token. */
function reasonOf(error: Error, errors: typeof JoseErrors): string {
  if (error instanceof errors.JWTExpired) return 'has expired';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'has a wrong signature';
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'cannot be read';
  const isMissing = error.reason === 'missing';
  if (error.claim === 'aud' && !isMissing) return 'was made for another application';
  if (error.claim === 'iat' && !isMissing) return 'is from the future: compare the clocks of the two hosts';
  return `has a missing or wrong claim ${error.claim}`;
}

function refused(reason: string, cause?: unknown): SidecarError {
  return new SidecarError('ERR_UNAUTHORIZED', `the identity token ${reason}`, { cause });
}
