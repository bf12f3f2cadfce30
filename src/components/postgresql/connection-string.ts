import type { SidecarError } from '../../errors.ts';
import { invalidConfiguration } from '../../util/option-fields.ts';
import type { ServerPlace } from '../remote/first-of.ts';
import type { PgConfig } from './driver.ts';

/** `name=value` or `name='va\'lue'`, as in libpq. */
const PAIR = /\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|([^\s']*))\s*/y;
/** Scheme and credentials, hosts, the rest. */
const URL_FORM = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s;
const DEFAULT_PORT = 5432;

/** One server: the primary, or one that may become it. */
export interface PgHost extends ServerPlace {
  /** The driver's options. */
  readonly config: PgConfig;
}

/** The servers of a store, and their name in messages. */
export interface PgTarget {
  readonly hosts: readonly PgHost[];
  /** Without credentials. */
  readonly name: string;
}

/**
 * Reads a connection string: a URL, or `host=… user=… password=… dbname=…`. Both may have several hosts, separated by
 * commas, each with its port.
 *
 * @throws SidecarError `ERR_CONFIGURATION`; the text is not in the message, since it may hold a password.
 */
export function parseConnectionString(text: string): PgTarget {
  const [, start, places = '', rest] = URL_FORM.exec(text) ?? URL_FORM.exec(urlOf(pairsOf(text))) ?? [];
  const urls = places.split(',').map((place) => `${start}${place}${rest}`);
  const hosts = urls.map((connectionString) => ({
    name: placeOf(parsed(connectionString)),
    config: { connectionString },
  }));
  const { pathname, username } = parsed(urls[0] ?? '');
  return { hosts, name: nameOf(hosts, decodeURIComponent(pathname.slice(1)) || decodeURIComponent(username)) };
}

function parsed(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw invalid();
  }
}

function placeOf({ searchParams, hostname, port }: URL): string {
  return `${searchParams.get('host') || hostname || 'localhost'}:${port || DEFAULT_PORT}`;
}

/** The name of a store's servers in messages. */
export function nameOf(hosts: readonly ServerPlace[], database: string): string {
  return `PostgreSQL at ${hosts.map(({ name }) => name).join()}/${database}`;
}

/** The servers of a connection that is given in its parts: `host` may be several, each with its port. */
export function hostsOf(config: PgConfig & { readonly host?: string; readonly port?: number }): readonly PgHost[] {
  const { host: places = 'localhost', port: defaultPort = DEFAULT_PORT } = config;
  return places.split(',').map((place) => {
    const [, host = place, port = defaultPort] = /^([^:]*|\[.*\]):(\d{1,5})$/.exec(place) ?? [];
    return { name: `${host}:${port}`, config: { ...config, host: host.replaceAll(/[[\]]/g, ''), port: Number(port) } };
  });
}

/** Parts of a connection, named as in PostgreSQL's own connection strings. */
export type ConnectionParts = Readonly<
  Partial<Record<'host' | 'hostaddr' | 'port' | 'user' | 'password' | 'database' | 'sslrootcert', string>>
>;

/**
 * A connection string in which parts replace those of the text. Its `sslmode` means what it does to PostgreSQL's own
 * clients: `require` encrypts, and only `verify-ca` and `verify-full` verify the certificate.
 *
 * @throws SidecarError `ERR_CONFIGURATION`, as {@link parseConnectionString}.
 */
export function withParts(text: string | undefined, parts: ConnectionParts): string {
  const given = text === undefined ? 'postgresql://localhost' : URL_FORM.test(text) ? text : urlOf(pairsOf(text));
  const [, start = '', places = '', rest = ''] = URL_FORM.exec(given) ?? [];
  // Several hosts make no valid URL.
  const url = parsed(`${start}localhost${rest}`);
  const { host = parts.hostaddr, port, user, password, database, sslrootcert } = parts;
  if (user !== undefined) url.username = encodeURIComponent(user);
  if (password !== undefined) url.password = encodeURIComponent(password);
  if (database !== undefined) url.pathname = `/${encodeURIComponent(database)}`;
  if (sslrootcert !== undefined) url.searchParams.set('sslrootcert', sslrootcert);
  if (url.searchParams.has('sslmode') && !url.searchParams.has('uselibpqcompat'))
    url.searchParams.set('uselibpqcompat', 'true');
  if (host?.startsWith('/') === true) url.searchParams.set('host', host);
  else if (host !== undefined) url.searchParams.delete('host');
  const hosts = host?.startsWith('/') === true ? 'localhost' : host;
  const [, before = '', , after = ''] = URL_FORM.exec(url.href) ?? [];
  return `${before}${placesWith(places || 'localhost', hosts, port)}${after}`;
}

/** The places of a URL with other hosts or another port. */
function placesWith(places: string, hosts: string | undefined, port: string | undefined): string {
  if (hosts !== undefined) return placesOf(hosts, port ?? '');
  if (port === undefined) return places;
  return places
    .split(',')
    .map((place) => `${place.replace(/:\d*$/, '')}:${port}`)
    .join();
}

function pairsOf(text: string): Map<string, string> {
  const pairs = new Map<string, string>();
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < text.length) {
    const found = PAIR.exec(text);
    if (found === null) throw invalid();
    const [, name = '', quoted, plain = ''] = found;
    pairs.set(name, quoted?.replaceAll(/\\(.)/g, '$1') ?? plain);
  }
  if (pairs.size === 0) throw invalid();
  return pairs;
}

function urlOf(pairs: Map<string, string>): string {
  const take = (...names: readonly string[]): string => {
    for (const name of names) {
      const value = pairs.get(name);
      pairs.delete(name);
      if (value !== undefined) return value;
    }
    return '';
  };
  const [user, password] = [take('user'), take('password')].map(encodeURIComponent);
  const [host, port, database] = [take('host', 'hostaddr'), take('port'), take('dbname', 'database')];
  const isSocket = host.startsWith('/');
  const query = new URLSearchParams([...pairs]);
  if (isSocket) query.set('host', host);
  const credentials = user === '' ? '' : `${user}${password === '' ? '' : `:${password}`}@`;
  const authority = `${credentials}${placesOf(isSocket ? 'localhost' : host, port)}`;
  return `postgresql://${authority}/${encodeURIComponent(database)}${query.size === 0 ? '' : `?${query}`}`;
}

/** Hosts with their ports: one for all, or one for each. */
function placesOf(hosts: string, ports: string): string {
  const [names, numbers] = [hosts.split(','), ports.split(',')];
  if (numbers.length !== 1 && numbers.length !== names.length) throw invalid();
  return names
    .map((name, index) => {
      const port = numbers[index] ?? numbers[0] ?? '';
      const host = name.includes(':') ? `[${name.replaceAll(/[[\]]/g, '')}]` : encodeURIComponent(name);
      return `${host}${port === '' ? '' : `:${port}`}`;
    })
    .join();
}

function invalid(): SidecarError {
  return invalidConfiguration(
    'The connection string of PostgreSQL state must be a URL ("postgresql://user:password@host:5432/database") or pairs ("host=… user=… password=… dbname=…"). Several hosts are separated by commas.',
    'options.url',
  );
}
