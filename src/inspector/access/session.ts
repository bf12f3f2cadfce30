import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { hostOf } from '../../http/browser-guard.ts';
import { headerOf, type SidecarRequest } from '../../http/message.ts';
import { GuessLimit } from './guess-limit.ts';

/** How long a browser stays admitted. */
const LIFETIME_MS = 24 * 3_600_000;
const KEY_BYTES = 32;

/**
 * The token of an inspector, and the cookies that stand for it. A cookie says when it ends, and proves that by a key that
 * only this object has. Nothing that leaves it depends on the token: every server on the host gets the cookie, and could
 * try tokens against it.
 */
export class TokenSessions {
  readonly #digest: Buffer;
  readonly #key = randomBytes(KEY_BYTES);
  readonly #guesses = new GuessLimit(() => performance.now());

  constructor(token: string) {
    this.#digest = digest(token);
  }

  /**
   * Whether a text is the token. Compares digests, so that the time taken tells nothing about it.
   *
   * @throws SidecarError of status 429 after too many wrong ones from the same address.
   */
  isToken(text: string, { remoteAddress = '' }: SidecarRequest): boolean {
    this.#guesses.check(remoteAddress);
    const isRight = timingSafeEqual(digest(text), this.#digest);
    if (!isRight) this.#guesses.count(remoteAddress);
    return isRight;
  }

  /**
   * Whether a request has a cookie that stands for the token, or the token as its `Authorization`.
   *
   * @throws SidecarError as {@link TokenSessions.isToken}.
   */
  admits(request: SidecarRequest): boolean {
    const { headers } = request;
    if (cookiesNamed(cookieName(request), headers['cookie']).some((value) => this.#isValid(value))) return true;
    const [, bearer] = /^bearer +(\S+)$/i.exec(headerOf(headers, 'authorization') ?? '') ?? [];
    return bearer !== undefined && this.isToken(bearer, request);
  }

  /**
   * The `set-cookie` field of a new session. Without a path: the browser takes the folder of the page, also where a proxy
   * has changed it.
   */
  setCookie(request: SidecarRequest, isSecure: boolean): string {
    const endsAt = String(Date.now() + LIFETIME_MS);
    const value = `${endsAt}.${this.#sign(endsAt).toString('base64url')}`;
    return `${cookieName(request)}=${value}; Max-Age=${LIFETIME_MS / 1000}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  }

  #isValid(value: string): boolean {
    const [endsAt = '', proof = ''] = value.split('.');
    const expected = this.#sign(endsAt);
    const given = Buffer.from(proof, 'base64url');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
    return Number(endsAt) > Date.now();
  }

  #sign(endsAt: string): Buffer {
    return createHmac('sha256', this.#key).update(endsAt).digest();
  }
}

/**
 * Browsers keep one cookie of a name for all ports of a host: the name depends on the port, so that inspectors on other
 * ports do not overwrite it, and a restarted one does.
 */
function cookieName({ headers }: SidecarRequest): string {
  return `insidecar-inspector-${digest(hostOf(headers) ?? '').toString('hex', 0, 4)}`;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function cookiesNamed(name: string, header: string | readonly string[] | undefined): string[] {
  return [header ?? []]
    .flat()
    .flatMap((line) => line.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}
