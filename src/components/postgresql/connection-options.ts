import { messageOf } from '../../errors.ts';
import { definedOnly } from '../../util/defined-only.ts';
import { nameOfKind } from '../../util/known-fields.ts';
import {
  ANY_TEXT,
  checkOptions,
  field,
  invalidConfiguration,
  type OptionField,
  type OptionFields,
  required,
  secret,
  whole,
} from '../../util/option-fields.ts';
import { TLS } from '../tls-fields.ts';
import { hostsOf, nameOf, type PgTarget, parseConnectionString } from './connection-string.ts';

/** The parts of a URL of PostgreSQL: options of the `Client` of the package `pg`. @public */
export interface PostgresqlConnection {
  /** Several are separated by commas, each with its own port if need be: `a,b:5433`. Default `localhost`. */
  readonly host?: string | undefined;
  /** The port. Default 5432. */
  readonly port?: number | undefined;
  /** The user to log in as. Default: the user of the process. */
  readonly user?: string | undefined;
  /** A text, or a function for passwords that expire. Default: none. */
  readonly password?: string | (() => string | Promise<string>) | undefined;
  /** The database. Default: the name of the user. */
  readonly database?: string | undefined;
  /** `true`, or the options of `tls.connect`. Default: no TLS. */
  readonly ssl?: boolean | object | undefined;
}

/** The field of a URL; {@link targetOf} checks its parts. */
export const URL_FIELD: OptionField = secret(
  required(
    field((value) => typeof value === 'string' || nameOfKind(value) === 'an object', 'a URL, pairs, or an object'),
  ),
);
const CONNECTION_FIELDS: OptionFields<PostgresqlConnection> = {
  host: ANY_TEXT,
  port: whole(1, 65_535),
  user: ANY_TEXT,
  password: secret(field((value) => typeof value === 'string' || typeof value === 'function', 'a text or a function')),
  database: ANY_TEXT,
  ssl: TLS,
};

/** Options that may be a lone URL. */
export function withUrl<Options>(given: string | Options): Options | { readonly url: string } {
  return typeof given === 'string' ? { url: given } : given;
}

/** The servers of a URL. `what` names its function in errors, which leave its text out. */
export function targetOf(url: string | PostgresqlConnection, what: string): PgTarget {
  if (typeof url === 'string') return targetOfText(url, what);
  checkOptions(`url of ${what}`, url, CONNECTION_FIELDS, invalidConnection);
  const { user = '', database = user } = url;
  const hosts = hostsOf(definedOnly(url));
  return { hosts, name: nameOf(hosts, database) };
}

function targetOfText(text: string, what: string): PgTarget {
  try {
    return parseConnectionString(text);
  } catch (error) {
    throw invalidConfiguration(`${what}: ${messageOf(error)}`, 'options.url');
  }
}

function invalidConnection(message: string, argument?: string): Error {
  return invalidConfiguration(message, argument?.replace(/^options/, 'options.url'));
}
