import type { Clock } from '../../../util/clock.ts';
import { type Duration, formatGoDuration, formatInstant, msOf } from '../../../util/duration.ts';
import { duration } from '../../../util/duration-option.ts';
import { jsonElements, jsonString } from '../../../util/json-text.ts';
import { checkOptions, type OptionFields, whole } from '../../../util/option-fields.ts';
import {
  type Binding,
  type BindingDefinition,
  BindingError,
  type BindingOptions,
  type BindingRequest,
  type BindingResponse,
} from '../../binding.ts';
import { BINDING_FIELDS, commonParts } from '../../binding-options.ts';
import { type PostgresqlConnection, targetOf, URL_FIELD, withUrl } from '../connection-options.ts';
import { loadPg, type PgResult } from '../driver.ts';
import { PgLine, type PgLineDeps } from '../pg-line.ts';
import { jsonOfColumn } from './json-of-result.ts';

/** Options of {@link postgresqlBinding}. @public */
export interface PostgresqlBindingOptions extends BindingOptions {
  /** A URL (`postgresql://user:password@host:5432/database`), pairs (`host=… user=…`), or its parts. */
  readonly url: string | PostgresqlConnection;
  /** The time limit of an attempt to connect and of a statement. Default `20s`. */
  readonly timeout?: Duration | undefined;
  /** The most connections. Default 4. */
  readonly maxConnections?: number | undefined;
  /** App IDs that may use it. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

const FIELDS: OptionFields<PostgresqlBindingOptions> = {
  ...BINDING_FIELDS,
  url: URL_FIELD,
  timeout: duration(1),
  maxConnections: whole(1, 100),
};

/** The columns are turned into JSON as texts, which have every digit. */
const AS_TEXT = {
  getTypeParser:
    () =>
    (text: string): unknown =>
      text,
};
const DEFAULT_TIMEOUT_MS = 20_000;
const DEFAULT_CONNECTIONS = 4;

/**
 * An output binding to PostgreSQL 13 or later: the operations `exec` and `query` run the statement in the metadata `sql`
 * with the parameters in `params`, a JSON array. `close` ends the binding. Needs the package `pg` 8. Errors of the
 * server are shown by their SQLSTATE alone: their texts have parts of the statement and of the data.
 *
 * @param name - the name in requests
 * @param given - the URL or pairs, or the options
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options.
 * @example
 * ```ts
 * const components = [postgresqlBinding('db', 'postgresql://app:secret@db.internal/shop')];
 * ```
 * @public
 */
export function postgresqlBinding(name: string, given: string | PostgresqlBindingOptions): BindingDefinition {
  const options: PostgresqlBindingOptions = withUrl(given);
  const what = `postgresqlBinding ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  const { url, timeout, maxConnections = DEFAULT_CONNECTIONS } = options;
  const target = targetOf(url, what);
  const load = (): ReturnType<typeof loadPg> => loadPg('pg', 'The component of type bindings.postgresql');
  const callTimeoutMs = msOf(timeout) ?? DEFAULT_TIMEOUT_MS;
  return {
    ...commonParts(options),
    name,
    type: 'bindings.postgresql',
    directions: ['output'],
    operations: ['exec', 'query', 'close'],
    open: async ({ clock, logger }) => {
      // A package that is not installed is an error of the start: it would look like a server that is down for ever.
      await load();
      return new PostgresqlBinding({ target, load, callTimeoutMs, logger, random: Math.random }, maxConnections, clock);
    },
  };
}

/** A connection, and how many statements wait for it or run on it. */
interface Place {
  readonly line: PgLine;
  underWay: number;
}

class PostgresqlBinding implements Binding {
  readonly #deps: PgLineDeps;
  readonly #maxConnections: number;
  readonly #clock: Clock;
  readonly #places: Place[];
  #isClosed = false;

  constructor(deps: PgLineDeps, maxConnections: number, clock: Clock) {
    this.#deps = deps;
    this.#maxConnections = maxConnections;
    this.#clock = clock;
    this.#places = [{ line: new PgLine(deps), underWay: 0 }];
  }

  get failure(): Error | undefined {
    return this.#isClosed ? undefined : this.#places[0]?.line.failure;
  }

  async invoke({ operation, metadata }: BindingRequest): Promise<BindingResponse | undefined> {
    if (this.#isClosed) throw new BindingError('the binding is closed');
    if (operation === 'close') return void (await this.close());
    const { sql, params } = metadata;
    if (sql === undefined || sql === '') throw new BindingError('metadata sql is missing: expected a statement');
    const values = valuesOf(params);
    const startedAt = this.#clock.now();
    const result = await this.#run(sql, values, operation);
    const endedAt = this.#clock.now();
    const times = {
      'start-time': formatInstant(startedAt),
      'end-time': formatInstant(endedAt),
      duration: formatGoDuration(endedAt - startedAt),
    };
    if (operation === 'query') return { data: jsonOf(result), metadata: { operation, sql, ...times } };
    return { metadata: { operation, sql, ...times, 'rows-affected': String(result.rowCount ?? 0) } };
  }

  async #run(sql: string, values: readonly unknown[], operation: string): Promise<PgResult> {
    const place = this.#place();
    place.underWay++;
    try {
      // Without parameters, `exec` may have several statements, as with Dapr.
      const queryMode = operation === 'query' ? 'extended' : undefined;
      const result = await place.line.run({ text: sql, values, rowMode: 'array', types: AS_TEXT, queryMode });
      return Array.isArray(result) ? (result.at(-1) as PgResult) : result;
    } catch (error) {
      throw failureOf(error);
    } finally {
      place.underWay--;
    }
  }

  /** The connection with the fewest statements; a new one while all are busy. */
  #place(): Place {
    const [first, ...others] = this.#places;
    let best = first as Place;
    for (const place of others) if (place.underWay < best.underWay) best = place;
    if (best.underWay === 0 || this.#places.length >= this.#maxConnections) return best;
    const made = { line: new PgLine(this.#deps), underWay: 0 };
    this.#places.push(made);
    return made;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#places.map(({ line }) => line.close()));
  }
}

/** The parameters as the driver sends them: numbers keep every digit. */
function valuesOf(params: string | undefined): readonly unknown[] {
  if (params === undefined || params === '') return [];
  let isArray = false;
  try {
    isArray = Array.isArray(JSON.parse(params));
  } catch {
    // Refused below.
  }
  if (!isArray) throw new BindingError('metadata params is no JSON array');
  return jsonElements(params).map((text) => {
    if (text.startsWith('"')) return jsonString(text);
    // An array is one of PostgreSQL, an object is JSON.
    if (text.startsWith('[')) return JSON.parse(text) as unknown;
    return text === 'null' ? null : text;
  });
}

function jsonOf({ rows, fields }: PgResult): Buffer {
  const types = fields.map(({ dataTypeID }) => dataTypeID);
  // The casts are safe: no parser touches the texts.
  const json = rows.map(
    (row) => `[${row.map((column, at) => jsonOfColumn(column as string | null, types[at] as number)).join()}]`,
  );
  return Buffer.from(`[${json.join()}]`);
}

/** Only the code: the server's text may have parts of the statement, of its data and of its addresses. */
function failureOf(error: unknown): BindingError {
  const code = codeOf(error);
  if (code !== undefined && /^[0-9A-Z]{5}$/.test(code))
    return new BindingError(`PostgreSQL has refused the statement (SQLSTATE ${code})`, {}, { cause: error });
  return new BindingError('PostgreSQL cannot be reached, or did not answer in time', {}, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  const { code, severity, cause } = Object(error) as { code?: unknown; severity?: unknown; cause?: unknown };
  if (typeof code === 'string' && severity !== undefined) return code;
  return cause === undefined || cause === error ? undefined : codeOf(cause);
}
