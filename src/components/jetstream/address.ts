const DEFAULT_PORT = '4222';

/** The parts of a URL. */
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
 * `tls://host`, `host:4222`. Credentials of the first one that has any are used for all. `undefined` if one is wrong.
 */
export function parseAddress(text: string): NatsAddress | undefined {
  const parts = text.split(',').map((part) => urlOf(part.trim()));
  const urls = parts.filter((url) => url !== undefined);
  if (urls.length < parts.length) return undefined;
  const servers = urls.map(({ hostname, port }) => `${hostname}:${port || DEFAULT_PORT}`);
  const tls = urls.some(({ protocol }) => protocol === 'tls:');
  const withUser = urls.find(({ username }) => username !== '');
  if (withUser === undefined) return { servers, tls };
  const [username, password] = [decoded(withUser.username), decoded(withUser.password)];
  return password === '' ? { servers, tls, token: username } : { servers, tls, username, password };
}

function urlOf(text: string): URL | undefined {
  const full = /^[a-z]+:\/\//.test(text) ? text : `nats://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  const isFine =
    url !== undefined && /^(nats|tls):$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname);
  return isFine ? url : undefined;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
