import type { StoredValue } from '../../components/key-value.ts';
import { MAX_TTL_SECONDS } from '../../components/key-value-options.ts';
import { isApiError, messageOf, SidecarError } from '../../errors.ts';
import type { Duration } from '../../util/duration.ts';
import { parseDurationOption } from '../../util/duration-option.ts';
import { jsonTextOf } from '../../util/json-value.ts';
import { checkFields, checkFunction, fieldNames } from '../../util/known-fields.ts';
import { invalidArgument } from '../../util/option-fields.ts';
import { shown } from '../../util/shown.ts';
import { inCode } from '../in-code.ts';
import { metadataFrom, NO_METADATA } from '../request-metadata.ts';
import type { StateChange } from './change.ts';
import { MAX_OPERATIONS, tooManyOperations, unknownOperation } from './errors.ts';
import { checkKey } from './key-prefix.ts';
import { planOf } from './query/plan-of.ts';
import type { StateService } from './state-service.ts';
import { parsedValue } from './value-text.ts';

/** A value with its ETag. @public */
export interface StateItem<T = unknown> {
  /** The value; bytes, if another program has stored something that is not JSON. */
  readonly value: T;
  /**
   * Identifies this state of the key: every write gives it another one. Empty if another program has stored the value in
   * a form without one, such as a plain string in Redis; a write with an empty ETag is done while that is still so.
   */
  readonly etag: string;
  /** When it expires, in milliseconds since 1970. Absent: never. */
  readonly expiresAt?: number;
}

/** Conditions of a write. @public */
export interface StateWriteOptions {
  /** Write only if the key has this ETag now. Default: whatever it has. */
  readonly etag?: string | undefined;
  /** Write only if the key does not exist. Default: false. */
  readonly ifAbsent?: boolean | undefined;
}

/** Options of {@link State.set}. @public */
export interface SetStateOptions extends StateWriteOptions {
  /**
   * How long the value exists, at most 2,147,483,647 seconds; 0 for ever. Default: as the store says.
   */
  readonly ttl?: Duration | undefined;
}

/** Options of {@link State.update}. @public */
export interface UpdateStateOptions extends Pick<SetStateOptions, 'ttl'> {
  /** How often the value is read and written, if others write it meanwhile. Default 10. */
  readonly maxAttempts?: number | undefined;
}

/** Saves a value in a transaction. @public */
export interface UpsertOperation extends SetStateOptions {
  /** Saves the value. */
  readonly operation: 'upsert';
  /** The key. */
  readonly key: string;
  /** The value: anything that JSON can hold. */
  readonly value: unknown;
  /** The media type of the value in the event of an outbox. Default: `text/plain` for a text, else `application/json`. */
  readonly contentType?: string | undefined;
  /** Metadata, such as attributes of the event of an outbox, or `outbox.projection`. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Deletes a key in a transaction. @public */
export interface DeleteOperation extends StateWriteOptions {
  /** Deletes the key. */
  readonly operation: 'delete';
  /** The key. */
  readonly key: string;
}

/** An operation of a transaction. @public */
export type StateOperation = UpsertOperation | DeleteOperation;

/**
 * A condition on the values that a query finds: one operator. Comparisons have a path of member names, with dots between
 * them, and a value.
 *
 * @public
 */
export type StateFilter =
  | { readonly EQ: Readonly<Record<string, unknown>> }
  | { readonly NEQ: Readonly<Record<string, unknown>> }
  | { readonly GT: Readonly<Record<string, number>> }
  | { readonly GTE: Readonly<Record<string, number>> }
  | { readonly LT: Readonly<Record<string, number>> }
  | { readonly LTE: Readonly<Record<string, number>> }
  | { readonly IN: Readonly<Record<string, readonly unknown[]>> }
  | { readonly AND: readonly StateFilter[] }
  | { readonly OR: readonly StateFilter[] };

/** A query. @public */
export interface StateQuery {
  /** Default: all values. */
  readonly filter?: StateFilter | undefined;
  /** The members that the results are sorted by. Default: their keys. */
  readonly sort?: readonly { readonly key: string; readonly order?: 'ASC' | 'DESC' | undefined }[] | undefined;
  /** The most results, 1 to 1,000. Default 1,000. */
  readonly limit?: number | undefined;
  /** The token of the page before, from an answer to the same filter and sort. */
  readonly token?: string | undefined;
}

/** A page of found values. @public */
export interface StateQueryPage<T = unknown> {
  /** The found values with their keys. */
  readonly results: readonly (StateItem<T> & { readonly key: string })[];
  /** For the next page; absent if this is the last one. */
  readonly token?: string;
}

const WRITE_FIELDS = fieldNames<StateWriteOptions>({ etag: true, ifAbsent: true });
const SET_FIELDS = fieldNames<SetStateOptions>({ etag: true, ifAbsent: true, ttl: true });
const UPDATE_FIELDS = fieldNames<UpdateStateOptions>({ ttl: true, maxAttempts: true });
const QUERY_FIELDS = fieldNames<StateQuery>({ filter: true, sort: true, limit: true, token: true });
const UPSERT_FIELDS = fieldNames<UpsertOperation>({
  ...{ operation: true, key: true, value: true, etag: true, ifAbsent: true, ttl: true },
  ...{ contentType: true, metadata: true },
});
const DELETE_FIELDS = fieldNames<DeleteOperation>({ operation: true, key: true, etag: true, ifAbsent: true });
const DEFAULT_ATTEMPTS = 10;
const NOTHING = new Uint8Array(0);

/**
 * Values by key, in the stores that are loaded as components. The same operations as those of the HTTP API, with the same
 * errors.
 *
 * @public
 */
export class State {
  readonly #service: StateService;

  /** @internal */
  constructor(service: StateService) {
    this.#service = service;
  }

  /**
   * Reads a value; `undefined` if the key does not exist.
   *
   * @throws SidecarError `ERR_STATE_STORE_NOT_FOUND`, `ERR_STATE_STORE_NOT_CONFIGURED`, `ERR_INVALID_ARGUMENT`
   * for a wrong key, `ERR_STATE_GET` if the store failed.
   */
  async get<T = unknown>(storeName: string, key: string): Promise<StateItem<T> | undefined> {
    try {
      const service = this.#admitted();
      const store = service.store(storeName);
      checkKey(storeName, key);
      const found = await service.get(store, key);
      return found && itemOf<T>(found);
    } catch (error) {
      throw inCode(error, 'key');
    }
  }

  /**
   * Reads values, all of them from one state of the store: in the order of the keys, `undefined` for those that do not
   * exist.
   *
   * @throws SidecarError as {@link State.get}; `ERR_STATE_BULK_GET` if the store failed.
   */
  async getMany<T = unknown>(
    storeName: string,
    keys: readonly string[],
  ): Promise<readonly (StateItem<T> | undefined)[]> {
    try {
      const service = this.#admitted();
      const store = service.store(storeName);
      if (!Array.isArray(keys)) throw invalidArgument(`keys are ${shown(keys)}: expected a list of texts`, 'keys');
      for (const key of keys) checkKey(storeName, key);
      if (keys.length === 0) return [];
      return (await service.getMany(store, keys)).map((entry) => {
        if (entry === undefined) return undefined;
        if ('error' in entry) throw entry.error;
        return itemOf<T>(entry);
      });
    } catch (error) {
      throw inCode(error, 'keys');
    }
  }

  /**
   * Saves a value: anything that JSON can hold. Resolves to its ETag once it is durable. A value without `ttl` has none,
   * even if the one before had.
   *
   * @throws SidecarError `ERR_STATE_SAVE` with status 409 if `etag` or `ifAbsent` does not hold, with 500 if the store
   * failed; as {@link State.get}.
   */
  async set(
    storeName: string,
    key: string,
    value: unknown,
    options: SetStateOptions = {},
  ): Promise<{ readonly etag: string }> {
    try {
      const service = this.#admitted();
      const store = service.store(storeName);
      checkFields(options, SET_FIELDS, 'options of set');
      const etags = await service.save(store, [upsertOf(storeName, { operation: 'upsert', key, value, ...options })]);
      return { etag: etags.get(key) ?? '' };
    } catch (error) {
      throw inCode(error, 'key');
    }
  }

  /**
   * Reads a value, computes a new one and writes that, again from the beginning if others have written meanwhile.
   *
   * @param change - gets the value, `undefined` without one; if it returns `undefined`, nothing is written
   * @returns the present value and its ETag; `undefined` if there is still none
   * @throws SidecarError `ERR_STATE_SAVE` with status 409 after `maxAttempts`; as {@link State.set}.
   */
  async update<T>(
    storeName: string,
    key: string,
    change: (value: T | undefined, item: StateItem<T> | undefined) => T | undefined | Promise<T | undefined>,
    options: UpdateStateOptions = {},
  ): Promise<StateItem<T> | undefined> {
    checkFields(options, UPDATE_FIELDS, 'options of update');
    const { maxAttempts = DEFAULT_ATTEMPTS, ttl } = options;
    if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1)
      throw invalidArgument(
        `maxAttempts is ${shown(maxAttempts)}: expected a whole number of 1 or more`,
        'options.maxAttempts',
      );
    checkFunction(change, 'the change of update', 'change');
    for (let attempt = 1; ; attempt++) {
      const item = await this.get<T>(storeName, key);
      const value = await change(item?.value, item);
      if (value === undefined) return item;
      try {
        const condition = item === undefined ? { ifAbsent: true } : { etag: item.etag };
        const { etag } = await this.set(storeName, key, value, { ...condition, ttl });
        return { value, etag };
      } catch (error) {
        const isConflictError = isApiError(error) && error.status === 409;
        if (!isConflictError || attempt >= maxAttempts) throw error;
      }
    }
  }

  /**
   * Deletes a key; one that does not exist is no error without an ETag.
   *
   * @throws SidecarError `ERR_STATE_DELETE` with status 409 if the condition does not hold, with 500 if the store failed;
   * as {@link State.get}.
   */
  async delete(storeName: string, key: string, options: StateWriteOptions = {}): Promise<void> {
    try {
      const service = this.#admitted();
      const store = service.store(storeName);
      checkFields(options, WRITE_FIELDS, 'options of delete');
      await service.delete(store, deletionOf(storeName, { operation: 'delete', key, ...options }));
    } catch (error) {
      throw inCode(error, 'key');
    }
  }

  /**
   * Makes all changes, in order, or none. If the store has an outbox, an event for each upsert is decided with them.
   * Returns the new ETags by key.
   *
   * @throws SidecarError `ERR_STATE_TRANSACTION` with status 409 if a condition does not hold, with 500 if the store
   * failed; `ERR_STATE_STORE_TOO_MANY_TRANSACTIONS`; `ERR_NOT_SUPPORTED_STATE_OPERATION`; as {@link State.get}.
   */
  async transact(storeName: string, operations: readonly StateOperation[]): Promise<ReadonlyMap<string, string>> {
    try {
      const service = this.#admitted();
      const store = service.store(storeName);
      if (!Array.isArray(operations))
        throw invalidArgument(`operations are ${shown(operations)}: expected a list`, 'operations');
      if (operations.length > MAX_OPERATIONS) throw tooManyOperations(storeName, operations.length);
      const changes = (operations as readonly StateOperation[]).map((operation) => {
        const fields = operation?.operation === 'delete' ? DELETE_FIELDS : UPSERT_FIELDS;
        checkFields(operation, fields, 'an operation of transact');
        if (operation.operation === 'upsert') return upsertOf(storeName, operation);
        if (operation.operation === 'delete') return deletionOf(storeName, operation);
        const { operation: name = '' } = operation as { readonly operation?: unknown };
        throw typeof name === 'string'
          ? unknownOperation(name)
          : invalidArgument(`operation is ${shown(name)}: expected a text`, 'operations');
      });
      return changes.length === 0 ? new Map<string, string>() : await service.transact(store, changes);
    } catch (error) {
      throw inCode(error, 'operations');
    }
  }

  /**
   * Finds values of this application.
   *
   * @throws SidecarError `ERR_STATE_QUERY` for a wrong query (status 400) or a store that failed (500),
   * `ERR_STATE_STORE_NOT_SUPPORTED` for a store without queries; as {@link State.get}.
   */
  async query<T = unknown>(storeName: string, query: StateQuery = {}): Promise<StateQueryPage<T>> {
    try {
      const service = this.#admitted();
      const store = service.store(storeName);
      checkFields(query, QUERY_FIELDS, 'the query');
      const { filter, sort, limit, token } = query;
      const text = textOf({ filter, sort, page: { limit, token } }, 'query', () => 'the query');
      const page = await service.query(store, planOf(storeName, text));
      const results = page.results.map(({ key, text: json, etag, expiresAt }) => ({
        key,
        value: JSON.parse(json) as T,
        etag: etag ?? '',
        ...(expiresAt === undefined ? {} : { expiresAt }),
      }));
      return { results, ...(page.token === undefined ? {} : { token: page.token }) };
    } catch (error) {
      throw inCode(error, 'query');
    }
  }

  #admitted(): StateService {
    this.#service.admit();
    return this.#service;
  }
}

/** The cast is the caller's: what is stored is not checked. */
function itemOf<T>({ bytes, etag = '', expiresAt }: StoredValue): StateItem<T> {
  const value = parsedValue(bytes) as T;
  return expiresAt === undefined ? { value, etag } : { value, etag, expiresAt };
}

function upsertOf(storeName: string, operation: UpsertOperation): StateChange {
  const { key, value, ttl, contentType, metadata } = operation;
  checkKey(storeName, key);
  const { etag, isFirstWrite, isStrong } = conditionOf(operation);
  return {
    kind: 'upsert',
    key,
    value: Buffer.from(textOf(value, 'value', () => `the value of ${JSON.stringify(key)}`)),
    etag,
    isFirstWrite,
    isStrong,
    ttlMs: ttl === undefined ? undefined : ttlMsOf(ttl),
    contentType,
    metadata: metadata === undefined ? NO_METADATA : metadataFrom(Object.entries(metadata)),
  };
}

function deletionOf(storeName: string, operation: DeleteOperation): StateChange {
  checkKey(storeName, operation.key);
  return { kind: 'delete', key: operation.key, value: NOTHING, ...conditionOf(operation), metadata: NO_METADATA };
}

function conditionOf({
  etag,
  ifAbsent = false,
}: StateWriteOptions): Pick<StateChange, 'etag' | 'isFirstWrite' | 'isStrong'> {
  if (etag !== undefined && typeof etag !== 'string')
    throw invalidArgument(`etag is ${shown(etag)}: expected the text that a read has returned`, 'options.etag');
  if (typeof ifAbsent !== 'boolean')
    throw invalidArgument(`ifAbsent is ${shown(ifAbsent)}: expected true or false`, 'options.ifAbsent');
  if (etag !== undefined && ifAbsent)
    throw invalidArgument('etag and ifAbsent cannot both hold: expected one of them', 'options');
  return { etag, isFirstWrite: ifAbsent, isStrong: false };
}

function ttlMsOf(ttl: Duration): number {
  const ms = parseDurationOption('ttl', ttl, (problem) => invalidArgument(problem, 'options.ttl'));
  if (ms <= MAX_TTL_SECONDS * 1_000) return ms;
  throw invalidArgument(`ttl is ${shown(ttl)}: expected at most ${MAX_TTL_SECONDS} seconds`, 'options.ttl');
}

function textOf(value: unknown, argument: string, what: () => string): string {
  let text: string | undefined;
  try {
    text = jsonTextOf(value);
  } catch (cause) {
    throw new SidecarError('ERR_INVALID_ARGUMENT', `${what()} ${messageOf(cause)}`, { cause, argument });
  }
  if (text === undefined)
    throw invalidArgument(`${what()} is undefined: expected a value that JSON can hold`, argument);
  return text;
}
