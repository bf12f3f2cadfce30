import { SidecarError } from '../../errors.ts';

const DEFAULT_PORT = '4222';

/** What a URL says. */
export interface NatsAddress {
  readonly servers: readonly string[];
  readonly username?: string;
  readonly password?: string;
  readonly token?: string;
  /** Whether it demands TLS. */
  readonly tls: boolean;
}

/**
 * Parses one URL, or several with commas between them: `nats://user:password@host:4222`, `nats://token@host`,
 * `tls://host`, `host:4222`. Credentials of the first one that has any are used for all.
 *
 * @throws SidecarError `ERR_CONFIGURATION`, without the URL: it may hold a password.
 */
export function parseAddress(text: string): NatsAddress {
  const urls = text.split(',').map((part) => urlOf(part.trim()));
  const servers = urls.map(({ hostname, port }) => `${hostname}:${port || DEFAULT_PORT}`);
  const tls = urls.some(({ protocol }) => protocol === 'tls:');
  const withUser = urls.find(({ username }) => username !== '');
  if (withUser === undefined) return { servers, tls };
  const [username, password] = [decoded(withUser.username), decoded(withUser.password)];
  return password === '' ? { servers, tls, token: username } : { servers, tls, username, password };
}

function urlOf(text: string): URL {
  const full = /^[a-z]+:\/\//.test(text) ? text : `nats://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  const isFine =
    url !== undefined && /^(nats|tls):$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname);
  if (isFine) return url;
  throw new SidecarError(
    'ERR_CONFIGURATION',
    'The url of jetstreamPubSub must be like "nats://user:password@host:4222" or "tls://host", several with commas between them.',
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
