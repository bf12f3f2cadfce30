import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { headerOf, type SidecarRequest } from '../../http/message.ts';

/** How long a browser stays admitted. */
const LIFETIME_MS = 24 * 3_600_000;

/**
 * The token of an inspector, and the cookies that stand for it. A cookie says when it ends, and proves that by the token
 * without telling it; so every process with the same token accepts it, and none with another.
 */
export class TokenSessions {
  readonly #token: string;
  readonly #digest: Buffer;
  readonly #cookie: string;

  constructor(token: string) {
    this.#token = token;
    this.#digest = digest(token);
    // Cookies are sent to all ports of a host: inspectors with other tokens must not overwrite each other's.
    this.#cookie = `insidecar-inspector-${this.#sign('name').toString('hex', 0, 4)}`;
  }

  /** Whether a text is the token. Compares digests, so that the time taken tells nothing about it. */
  isToken(text: string): boolean {
    return timingSafeEqual(digest(text), this.#digest);
  }

  /** Whether a request has the token as its `Authorization`, or a cookie that stands for it. */
  admits({ headers }: SidecarRequest): boolean {
    const [, bearer] = /^bearer +(\S+)$/i.exec(headerOf(headers, 'authorization') ?? '') ?? [];
    if (bearer !== undefined && this.isToken(bearer)) return true;
    return cookiesNamed(this.#cookie, headers['cookie']).some((value) => this.#isValid(value));
  }

  /**
   * The `set-cookie` field of a new session. Without a path: the browser takes the folder of the page, also where a proxy
   * has changed it.
   */
  setCookie(isSecure: boolean): string {
    const endsAt = String(Date.now() + LIFETIME_MS);
    const value = `${endsAt}.${this.#sign(`session ${endsAt}`).toString('base64url')}`;
    return `${this.#cookie}=${value}; Max-Age=${LIFETIME_MS / 1000}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  }

  #isValid(value: string): boolean {
    const [endsAt = '', proof = ''] = value.split('.');
    const expected = this.#sign(`session ${endsAt}`);
    const given = Buffer.from(proof, 'base64url');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
    return Number(endsAt) > Date.now();
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#token).update(`insidecar inspector ${text}`).digest();
  }
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
