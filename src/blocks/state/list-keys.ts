import type { KeyScanPage, ScannedKey } from '../../components/key-value.ts';
import { SidecarError } from '../../errors.ts';
import { compareKeys } from '../../state/keys.ts';
import { checkLimit, checkNamePage } from '../../util/check-limit.ts';
import { canBeRequested, entriesOf } from './entries.ts';
import { keysNotListed, storeFailed } from './errors.ts';
import { checkKey } from './key-prefix.ts';
import type { OpenStateStore } from './open-state-store.ts';

/** Which keys to list. */
export interface KeyListOptions {
  /** The beginning of the keys. Default: all keys. */
  readonly prefix?: string;
  /** The `cursor` of the previous page. */
  readonly cursor?: string;
  /** The maximum number of keys in a page, 1 to 1,000; a store that scans its keys may add some. Default 100. */
  readonly limit?: number;
}

/** A key of the application, without its value. */
export interface ListedKey {
  readonly key: string;
  /** The size of the value as it is stored. */
  readonly bytes: number;
  /** Absent: another program has written the value in a form without one. */
  readonly etag?: string;
  /** Absent: never. */
  readonly expiresAt?: number;
}

/** A page of keys in their order. The pages of a store that only scans its keys are in none, and may share keys. */
export interface KeyPage {
  readonly keys: readonly ListedKey[];
  /** For the next page; absent on the last one. A page with a cursor may be empty. */
  readonly cursor?: string;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
/** Stores list keys with their values: few are read at once. */
const AT_ONCE = 32;
/** The most entries that are read for one page. Without a key prefix, most may belong to other applications. */
const MAX_READ = 2_000;

/**
 * Lists the keys that requests of the application can name.
 *
 * @throws SidecarError `ERR_STATE_STORE_NOT_SUPPORTED` for a store that does not list its keys; `ERR_MALFORMED_REQUEST`
 * for a prefix that no key begins with, `ERR_INVALID_ARGUMENT` for other options; `ERR_STATE_GET` when the store fails.
 */
export async function listKeys(store: OpenStateStore, options: KeyListOptions): Promise<KeyPage> {
  const { prefix = '', cursor, limit = DEFAULT_LIMIT } = options;
  if (prefix !== '') checkKey(store.name, prefix);
  checkLimit(limit, MAX_LIMIT);
  const { list, scan } = store.store;
  if (list !== undefined) checkNamePage({ prefix, cursor });
  else if (scan === undefined) throw keysNotListed(store.name);
  const readPage = list === undefined ? scanPage : listPage;
  try {
    return await readPage(store, { prefix, cursor, limit });
  } catch (error) {
    throw storeFailed('ERR_STATE_GET', store.name, undefined, error);
  }
}

interface PageRequest {
  readonly prefix: string;
  readonly cursor: string | undefined;
  readonly limit: number;
}

async function scanPage(store: OpenStateStore, { prefix, cursor, limit }: PageRequest): Promise<KeyPage> {
  const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
  const scan = async (): Promise<KeyScanPage | undefined> => store.store.scan?.(store.prefix + prefix, page);
  const found = await store.call(scan, true);
  if (found === undefined)
    throw new SidecarError('ERR_INVALID_ARGUMENT', `cursor is ${JSON.stringify(cursor)}: expected that of a page`, {
      argument: 'options.cursor',
    });
  const { length } = store.prefix;
  const own = found.keys
    .map((scanned) => ({ ...scanned, key: scanned.key.slice(length) }))
    .filter(({ key }) => canBeRequested(key))
    .sort((one, other) => compareKeys(one.key, other.key));
  return { keys: own.map(listedKey), ...(found.cursor === undefined ? {} : { cursor: found.cursor }) };
}

async function listPage(store: OpenStateStore, { prefix, cursor, limit }: PageRequest): Promise<KeyPage> {
  const keys: ListedKey[] = [];
  let read = 0;
  let last = cursor;
  for await (const { key, bytes, etag, expiresAt } of entriesOf(store, { prefix, after: cursor, atOnce: AT_ONCE })) {
    // There is one more: the next page begins with it.
    if (last !== undefined && (keys.length === limit || read === MAX_READ)) return { keys, cursor: last };
    read++;
    last = key;
    if (canBeRequested(key)) keys.push(listedKey({ key, bytes: bytes.length, etag, expiresAt }));
  }
  return { keys };
}

/** Leaves out what is not there. */
function listedKey({ key, bytes, etag, expiresAt }: Found): ListedKey {
  return {
    ...{ key, bytes },
    ...(etag === undefined ? undefined : { etag }),
    ...(expiresAt === undefined ? undefined : { expiresAt }),
  };
}

/** A found key, in which members may be `undefined`. */
type Found = Omit<ScannedKey, 'expiresAt'> & { readonly expiresAt?: number | undefined };
