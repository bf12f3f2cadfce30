import type { StoredValue } from '../../components/key-value.ts';
import { messageOf } from '../../errors.ts';
import { allReceived } from '../../http/body.ts';
import { readContent } from '../../http/content.ts';
import { type HeaderMap, headerOf, NO_CONTENT, type SidecarRequest, type SidecarResponse } from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import { joinUtf8 } from '../../util/bytes.ts';
import type { Wire } from '../../wire.ts';
import { knownMetadata, metadataOfQuery, NO_METADATA } from '../request-metadata.ts';
import { checkKey } from './key-prefix.ts';
import { jsonBody, type ParseRules, parseKeys, parseOptions, parseSave, parseTransaction } from './parse-changes.ts';
import { planOf } from './query/plan-of.ts';
import { checkQueryable, type QueriedValue } from './query/run-query.ts';
import type { StateEntry, StateService } from './state-service.ts';
import { expiryText, isJsonValue, jsonOfValue } from './value-text.ts';

export interface StateRoutesDeps {
  readonly state: StateService;
  readonly wire: Wire;
  readonly bodyLimitBytes: number;
}

const WRITES = ['POST', 'PUT'];
const JSON_TYPE = 'application/json';
/** Names of metadata are as they are written. */
const KNOWN = knownMetadata([]);

type ToStore = { readonly store: string };
type ToKey = ToStore & { readonly key: string };
type ByStore = (request: SidecarRequest, params: ToStore) => Promise<SidecarResponse>;
type ByKey = (request: SidecarRequest, params: ToKey) => Promise<SidecarResponse>;

/** The routes of the state API. */
export function stateRoutes(deps: StateRoutesDeps): Route[] {
  const get: ByKey = (request, to) => getValue(deps, request, to);
  const remove: ByKey = (request, to) => deleteValue(deps, request, to);
  /** A word that is a route for writes is a key like any other for the rest. */
  const word = <Word extends string>(name: Word, write: ByStore): Route[] => {
    const path = `/v1.0/state/:store/${name}` as '/v1.0/state/:store';
    return [
      route('state', WRITES, path, write),
      route('state', ['GET'], path, (request, { store }) => get(request, { store, key: name })),
      route('state', ['DELETE'], path, (request, { store }) => remove(request, { store, key: name })),
    ];
  };
  return [
    route('state', WRITES, '/v1.0/state/:store', (request, to) => save(deps, request, to)),
    ...word('bulk', (request, to) => bulkGet(deps, request, to)),
    ...word('transaction', (request, to) => transact(deps, request, to)),
    route('state', ['GET'], '/v1.0/state/:store/*key', get, { hasKeys: true }),
    route('state', ['DELETE'], '/v1.0/state/:store/*key', remove, { hasKeys: true }),
    route('state', WRITES, '/v1.0-alpha1/state/:store/query', (request, to) => query(deps, request, to)),
  ];
}

async function save(
  deps: StateRoutesDeps,
  request: SidecarRequest,
  { store: name }: ToStore,
): Promise<SidecarResponse> {
  const { state, bodyLimitBytes } = deps;
  const store = state.store(name);
  const changes = parseSave(await readContent(request, bodyLimitBytes), rulesOf(deps, request, name));
  await state.save(store, changes);
  return NO_CONTENT;
}

async function transact(
  deps: StateRoutesDeps,
  request: SidecarRequest,
  { store: name }: ToStore,
): Promise<SidecarResponse> {
  const { state, bodyLimitBytes } = deps;
  const store = state.store(name);
  const changes = parseTransaction(await readContent(request, bodyLimitBytes), rulesOf(deps, request, name));
  await state.transact(store, changes);
  return NO_CONTENT;
}

function rulesOf({ wire }: StateRoutesDeps, request: SidecarRequest, storeName: string): ParseRules {
  const form = { wire, known: KNOWN };
  const ofQuery = metadataOfQuery(request.search, () => request.query, form);
  return { storeName, form, ofQuery };
}

async function getValue(
  { state }: StateRoutesDeps,
  _: SidecarRequest,
  { store: name, key }: ToKey,
): Promise<SidecarResponse> {
  const store = state.store(name);
  checkKey(name, key);
  await allReceived();
  const found = await state.get(store, key);
  if (found === undefined) return NO_CONTENT;
  const { bytes, etag, expiresAt } = found;
  const headers: Record<string, string> = {
    'content-type': isJsonValue(found) ? JSON_TYPE : 'application/octet-stream',
  };
  if (etag !== undefined && FIELD.test(etag)) headers['etag'] = etag;
  if (expiresAt !== undefined) headers['metadata.ttlexpiretime'] = expiryText(expiresAt);
  return { status: 200, headers, body: bytes };
}

/** The values that a header field can hold. Other programs may have stored ETags that it cannot. */
const FIELD = /^[\x21-\x7e]+$/;

async function deleteValue(
  { state }: StateRoutesDeps,
  request: SidecarRequest,
  { store: name, key }: ToKey,
): Promise<SidecarResponse> {
  const store = state.store(name);
  checkKey(name, key);
  const { query } = request;
  const options = parseOptions(query.get('concurrency') ?? undefined, query.get('consistency') ?? undefined);
  const etag = etagOf(request.headers);
  await state.delete(store, { kind: 'delete', key, value: NOTHING, etag, ...options, metadata: NO_METADATA });
  return NO_CONTENT;
}

const NOTHING = new Uint8Array(0);

/** `If-Match` without one pair of quotation marks; empty means none. */
function etagOf(headers: HeaderMap): string | undefined {
  const text = headerOf(headers, 'if-match') ?? '';
  const isQuoted = text.length >= 2 && text.startsWith('"') && text.endsWith('"');
  return (isQuoted ? text.slice(1, -1) : text) || undefined;
}

async function bulkGet(
  deps: StateRoutesDeps,
  request: SidecarRequest,
  { store: name }: ToStore,
): Promise<SidecarResponse> {
  const { state, wire, bodyLimitBytes } = deps;
  const store = state.store(name);
  const keys = parseKeys(await readContent(request, bodyLimitBytes), { storeName: name, form: { wire, known: KNOWN } });
  const entries = keys.length === 0 ? [] : await state.getMany(store, keys);
  return json(bulkBody(keys, entries));
}

/** The values stand in it as they are stored: texts of all of them would be copied three times. */
function bulkBody(keys: readonly string[], entries: readonly StateEntry[]): Buffer {
  const parts: (string | Uint8Array)[] = [];
  let text = '';
  for (const [index, key] of keys.entries()) {
    const entry = entries[index];
    text += `${index === 0 ? '[' : ','}{"key":${JSON.stringify(key)}`;
    if (entry !== undefined && 'error' in entry) text += `,"error":${JSON.stringify(messageOf(entry.error))}`;
    else if (entry !== undefined) {
      parts.push(`${text},"data":`, jsonOfValue(entry));
      text = detailsText(entry);
    }
    text += '}';
  }
  parts.push(keys.length === 0 ? '[]' : `${text}]`);
  return joinUtf8(parts);
}

function detailsText({ etag, expiresAt }: StoredValue): string {
  const ofEtag = etag === undefined ? '' : `,"etag":${JSON.stringify(etag)}`;
  const ofTtl = expiresAt === undefined ? '' : `,"metadata":{"ttlExpireTime":"${expiryText(expiresAt)}"}`;
  return ofEtag + ofTtl;
}

async function query(
  deps: StateRoutesDeps,
  request: SidecarRequest,
  { store: name }: ToStore,
): Promise<SidecarResponse> {
  const { state, bodyLimitBytes } = deps;
  const store = state.store(name);
  checkQueryable(store);
  const text = jsonBody(await readContent(request, bodyLimitBytes));
  const { results, token } = await state.query(store, planOf(name, text));
  if (results.length === 0) return NO_CONTENT;
  const ofToken = token === undefined ? '' : `,"token":"${token}"`;
  return json(Buffer.from(`{"results":[${results.map(foundText).join()}]${ofToken}}`));
}

function foundText({ key, text, etag }: QueriedValue): string {
  const ofEtag = etag === undefined ? '' : `,"etag":${JSON.stringify(etag)}`;
  return `{"key":${JSON.stringify(key)},"data":${text}${ofEtag}}`;
}

function json(body: Buffer): SidecarResponse {
  return { status: 200, headers: { 'content-type': JSON_TYPE }, body };
}
