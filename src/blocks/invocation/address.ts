import { SidecarError } from '../../errors.ts';
import { headerOf, type SidecarRequest } from '../../http/message.ts';
import { refused, shown } from './errors.ts';

/** Who is to be called, and on which path. */
export interface Address {
  /** Decoded. */
  readonly target: string;
  /** As it came, with a slash in front. */
  readonly path: string;
}

const METHOD = '/method/';

/**
 * Reads what follows `/v1.0/invoke/` in a path: everything before the first `/method/` is the target, everything after
 * it goes to the target as it is.
 *
 * @throws SidecarError `ERR_DIRECT_INVOKE` (400) without target or method name, `ERR_BAD_REQUEST` for a target that
 * does not decode.
 */
export function addressOfPath(rest: string, mayBeRoot = false): Address {
  const at = rest.indexOf(METHOD);
  const target = at === -1 ? '' : decoded(rest.slice(0, at));
  const path = rest.slice(at + METHOD.length - 1);
  if (at === -1 || (!mayBeRoot && /^\/+$/.test(path)))
    throw refused(`no method name in ${shown(`/v1.0/invoke/${rest}`)}: expected /v1.0/invoke/<target>/method/<name>`);
  if (target === '') throw refused(`no target in ${shown(`/v1.0/invoke/${rest}`)}`);
  return { target, path };
}

function decoded(raw: string): string {
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
 * Reads the target from the header that names it, or from basic credentials whose user is that name
 * (`http://sidecar-app-id:billing@localhost:3500/orders`); the whole path is then the target's.
 */
export function addressOfHeaders({ path, headers }: SidecarRequest, appIdHeader: string): Address | undefined {
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
