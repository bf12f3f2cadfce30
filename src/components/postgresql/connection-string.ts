import { StateError } from '../../state/errors.ts';
import type { PgConfig } from './driver.ts';

/** `name=value` or `name='va\'lue'`, as in libpq. */
const PAIR = /\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|([^\s']*))\s*/y;
const URL_FORM = /^postgres(?:ql)?:\/\//;

/** The driver's options for a server, and the server's name in messages. */
export interface PgTarget {
  readonly config: PgConfig;
  /** Without credentials. */
  readonly name: string;
}

/**
 * Reads a connection string: a URL, or `host=… user=… password=… dbname=…`.
 *
 * @throws StateError `invalid`; the text is not in the message, since it may hold a password.
 */
export function parseConnectionString(text: string): PgTarget {
  const url = URL_FORM.test(text) ? text : urlOf(pairsOf(text));
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw invalid();
  }
  const host = parsed.searchParams.get('host') || parsed.hostname || 'localhost';
  const database = decodeURIComponent(parsed.pathname.slice(1)) || decodeURIComponent(parsed.username);
  return { config: { connectionString: url }, name: nameOf(host, parsed.port || 5432, database) };
}

/** The name of a server in messages. */
export function nameOf(host: string, port: string | number, database: string): string {
  return `PostgreSQL at ${host}:${port}/${database}`;
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
      if (value !== undefined) return encodeURIComponent(value);
    }
    return '';
  };
  const [user, password, host, port] = [take('user'), take('password'), take('host', 'hostaddr'), take('port')];
  const database = take('dbname', 'database');
  const isSocket = host.startsWith('%2F');
  const query = new URLSearchParams([...pairs]);
  if (isSocket) query.set('host', decodeURIComponent(host));
  const credentials = user === '' ? '' : `${user}${password === '' ? '' : `:${password}`}@`;
  const authority = `${credentials}${isSocket ? 'localhost' : host}${port === '' ? '' : `:${port}`}`;
  return `postgresql://${authority}/${database}${query.size === 0 ? '' : `?${query}`}`;
}

function invalid(): StateError {
  return new StateError(
    'invalid',
    'The connection string of PostgreSQL state must be a URL ("postgresql://user:password@host:5432/database") or pairs ("host=… user=… password=… dbname=…").',
  );
}
