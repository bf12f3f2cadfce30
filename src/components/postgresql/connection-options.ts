import { messageOf } from '../../errors.ts';
import { fieldNames, fieldsProblem } from '../../util/known-fields.ts';
import { hostsOf, nameOf, type PgTarget, parseConnectionString } from './connection-string.ts';

/** The connection to a PostgreSQL server: options of the `Client` of the package `pg`. @public */
export interface PostgresqlConnection {
  /** Several are separated by commas, each with its own port if need be: `a,b:5433`. Default `localhost`. */
  readonly host?: string;
  /** The port. Default 5432. */
  readonly port?: number;
  /** The user to log in as. Default: the user of the process. */
  readonly user?: string;
  /** A text, or a function for passwords that expire. Default: none. */
  readonly password?: string | (() => string | Promise<string>);
  /** The database. Default: the name of the user. */
  readonly database?: string;
  /** `true`, or the options of `tls.connect`. Default: no TLS. */
  readonly ssl?: boolean | object;
}

const CONNECTION_FIELDS = fieldNames<PostgresqlConnection>({
  host: true,
  port: true,
  user: true,
  password: true,
  database: true,
  ssl: true,
});

/** What is wrong with a connection that is given in its parts. `what` names its function. */
export function connectionProblem(connection: string | PostgresqlConnection, what: string): string | undefined {
  if (typeof connection === 'string') return undefined;
  return fieldsProblem(connection, CONNECTION_FIELDS, `connection of ${what}`);
}

/** The servers of a connection. */
export function targetOf(connection: string | PostgresqlConnection): PgTarget {
  if (typeof connection === 'string') return parseConnectionString(connection);
  const { user = '', database = user } = connection;
  const hosts = hostsOf({ ...connection });
  return { hosts, name: nameOf(hosts, database) };
}

/** The servers of a connection; `fail` makes the error for one that cannot be used, without its text. */
export function checkedTarget(connection: string | PostgresqlConnection, fail: (problem: string) => Error): PgTarget {
  const problem = connectionProblem(connection, 'the options');
  if (problem !== undefined) throw fail(problem);
  try {
    return targetOf(connection);
  } catch (error) {
    throw fail(messageOf(error));
  }
}
