import { SidecarError } from '../../errors.ts';
import { headerOf, type SidecarRequest } from '../../http/message.ts';
import { refused, shown } from './errors.ts';

/** The target and path of a call. */
export interface CallAddress {
  /** Decoded. */
  readonly target: string;
  /** As received, with a leading slash. */
  readonly path: string;
}

const METHOD = '/method/';
/** `/method/` with percent-escapes. */
const ESCAPED_METHOD = /\/(?:m|%6[dD])(?:e|%65)(?:t|%74)(?:h|%68)(?:o|%6[fF])(?:d|%64)\//;
const ROOT = /^\/+$/;

/** Whether a path is the root of the target, which has no name that could follow `/method/`. */
export function isRoot(path: string): boolean {
  return path.charCodeAt(path.length - 1) === 0x2f && ROOT.test(path);
}

/**
 * Parses the part of a path after `/v1.0/invoke/`: the target up to the first `/method/`, then the path, which goes to
 * the target unchanged.
 *
 * @throws SidecarError `ERR_DIRECT_INVOKE` (400) without target or method name, `ERR_BAD_REQUEST` for a target that
 * cannot be decoded.
 */
export function addressOfPath(rest: string): CallAddress {
  const plainAt = rest.indexOf(METHOD);
  const escaped = escapedMethod(rest, plainAt);
  const at = escaped?.index ?? plainAt;
  const target = at === -1 ? '' : decodedTarget(rest.slice(0, at));
  const path = rest.slice(at + (escaped?.[0] ?? METHOD).length - 1);
  if (at === -1 || isRoot(path))
    throw refused(`no method name in ${shown(`/v1.0/invoke/${rest}`)}: expected /v1.0/invoke/<target>/method/<name>`);
  if (target === '') throw refused(`no target in ${shown(`/v1.0/invoke/${rest}`)}`);
  return { target, path };
}

/** The first segment `method` with its slashes, if it may come before `at`, that of the plain text. */
function escapedMethod(rest: string, at: number): RegExpExecArray | undefined {
  const percent = rest.indexOf('%');
  if (percent === -1 || (at !== -1 && percent > at)) return undefined;
  return ESCAPED_METHOD.exec(rest) ?? undefined;
}

/** A target in percent-escapes, as it stands in a path. */
export function decodedTarget(raw: string): string {
  const text = raw.endsWith('/') ? raw.replace(/\/+$/, '') : raw;
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    const message = `target ${shown(raw)} does not decode: expected percent-escapes of UTF-8`;
    throw new SidecarError('ERR_BAD_REQUEST', message, { cause });
  }
}

/**
 * Reads the target from its header, or from basic credentials whose user is the header's name
 * (`http://sidecar-app-id:billing@localhost:3500/orders`); the whole path is then passed to the target.
 */
export function addressOfHeaders({ path, headers }: SidecarRequest, appIdHeader: string): CallAddress | undefined {
  if (!path.startsWith('/')) return undefined;
  const named = headerOf(headers, appIdHeader);
  const target =
    named === undefined || named === '' ? appIdOfCredentials(headers['authorization'], appIdHeader) : named;
  return target === undefined ? undefined : { target, path };
}

/** The target in basic credentials whose user is the header's name. */
export function appIdOfCredentials(authorization: unknown, user: string): string | undefined {
  if (typeof authorization !== 'string') return undefined;
  const [, encoded] = /^basic +([\w+/=-]+)$/i.exec(authorization) ?? [];
  if (encoded === undefined) return undefined;
  const parts = Buffer.from(encoded, 'base64').toString().split(':');
  const [name = '', password = ''] = parts;
  return parts.length === 2 && name.toLowerCase() === user && password !== '' ? password : undefined;
}
