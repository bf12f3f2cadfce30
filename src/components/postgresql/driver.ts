import { StateError } from '../../state/errors.ts';
import { loadPackage } from '../../util/load-package.ts';

/** A row as a list of columns. */
export type Row = readonly unknown[];

/** The used part of a `pg` connection: the package need not be installed. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(query: PgQuery): Promise<{ readonly rows: readonly Row[] }>;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(event: 'notification', listener: (message: { readonly payload?: string }) => void): unknown;
  readonly host: string;
  readonly port: number;
  /** Both identify the connection to the server. */
  readonly processID: number | null;
  readonly secretKey: number | null;
  /** The socket, to end a connection that does not respond. */
  readonly connection: { readonly stream: { destroy(): void } };
}

/** A statement with its arguments; a named statement is prepared once per connection. */
export interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
  readonly rowMode: 'array';
}

/** The connection options of `pg`. */
export interface PgConfig {
  readonly [option: string]: unknown;
}

interface PgModule {
  readonly Client: new (config: PgConfig) => PgClient;
}

/**
 * Loads the driver.
 *
 * @throws StateError `driver-missing` naming the package to install.
 */
export function loadPg(name = 'pg'): Promise<PgModule> {
  const wanted = { name, version: '8', neededBy: 'State in PostgreSQL' };
  return loadPackage(wanted, (message, cause) => new StateError('driver-missing', message, cause));
}
