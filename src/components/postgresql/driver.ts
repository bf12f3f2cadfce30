import { StateError } from '../../state/errors.ts';
import { loadPackage } from '../../util/load-package.ts';
import { resultTypes } from './result-types.ts';

/** A row as a list of columns. */
export type PgRow = readonly unknown[];

/** The used part of a `pg` connection: the package need not be installed. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(query: PgQuery): Promise<PgResult>;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(
    event: 'notification',
    listener: (message: { readonly channel: string; readonly payload?: string }) => void,
  ): unknown;
  readonly host: string;
  readonly port: number;
  /** Both identify the connection to the server. */
  readonly processID: number | null;
  readonly secretKey: number | null;
  /** The socket, to end a connection that does not respond. */
  readonly connection: { readonly stream: { destroy(): void } };
}

/** The outcome of a statement. */
export interface PgResult {
  readonly rows: readonly PgRow[];
  /** The columns; the number of a type is that of PostgreSQL. */
  readonly fields: readonly { readonly dataTypeID: number }[];
  /** The rows that were read or changed; `null` for a statement without rows. */
  readonly rowCount: number | null;
}

/** A statement with its arguments; a named statement is prepared once per connection. */
export interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
  readonly rowMode: 'array';
  /** `extended` takes one statement only. Default: by whether there are arguments. */
  readonly queryMode?: 'extended' | undefined;
  /** How columns are read. Default: by the parsers of the client. */
  readonly types?: { readonly getTypeParser: () => (text: string) => unknown } | undefined;
}

/** The connection options of `pg`. */
export interface PgConfig {
  readonly [option: string]: unknown;
}

interface PgModule {
  readonly Client: new (config: PgConfig) => PgClient;
  /** Defaults of all clients of the process. */
  readonly defaults: Record<string, unknown>;
}

/** `defaults` of the package as it is loaded, as far as a client reads them. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  ...{ host: 'localhost', port: 5432, database: undefined, password: null, options: undefined, replication: undefined },
  ...{ ssl: false, sslnegotiation: undefined, client_encoding: '', binary: false, rows: 0 },
  ...{ application_name: undefined, fallback_application_name: undefined },
  ...{ statement_timeout: false, lock_timeout: false, idle_in_transaction_session_timeout: false },
  query_timeout: false,
};

/**
 * Makes a client that the application's global settings of the package do not change: it has parsers of its own, and
 * the defaults, which a client reads as it is made, are put back for that moment.
 */
export function makeClient({ Client, defaults }: PgModule, config: PgConfig): PgClient {
  const user = process.platform === 'win32' ? process.env['USERNAME'] : process.env['USER'];
  const own = { ...DEFAULTS, user };
  const given = Object.fromEntries(Object.keys(own).map((name) => [name, defaults[name]]));
  Object.assign(defaults, own);
  try {
    return new Client({ ...config, types: resultTypes });
  } finally {
    Object.assign(defaults, given);
  }
}

/**
 * Loads the driver.
 *
 * @param neededBy - the feature that needs it, for the error
 * @throws StateError `driver-missing` naming the package to install.
 */
export function loadPg(name = 'pg', neededBy = 'State in PostgreSQL'): Promise<PgModule> {
  const wanted = { name, version: '8', neededBy };
  return loadPackage(wanted, (message, cause) => new StateError('driver-missing', message, cause));
}
