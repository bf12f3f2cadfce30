import { isUtf8 } from 'node:buffer';
import { MAX_TTL_SECONDS } from '../../components/key-value-options.ts';
import { isJson } from '../../util/is-json.ts';
import { jsonElements, jsonString } from '../../util/json-text.ts';
import type { Wire } from '../../wire.ts';
import { JsonMembers } from '../json-members.ts';
import { type Metadata, type MetadataForm, metadataFrom, metadataOfJson, NO_METADATA } from '../request-metadata.ts';
import type { StateChange } from './change.ts';
import { MAX_OPERATIONS, malformed, quoted, tooManyOperations, unknownOperation } from './errors.ts';
import { checkKey } from './key-prefix.ts';

const NULL = Buffer.from('null');
const NOTHING: Uint8Array = new Uint8Array(0);

/** The names of members of requests, by these names in lower case. */
const NAMES: ReadonlyMap<string, string> = new Map(
  'key value etag metadata options concurrency consistency contentType operations operation request keys parallelism'
    .split(' ')
    .map((name) => [name.toLowerCase(), name]),
);

/** How requests are read. */
export interface ParseRules {
  readonly storeName: string;
  readonly form: MetadataForm;
  /** Metadata in the query: they go before those of the items. */
  readonly ofQuery: Metadata;
}

/** The text of a JSON body. Values are taken out of it as they are written: numbers keep every digit. */
export function jsonBody(body: Buffer): string {
  if (!isUtf8(body)) throw malformed('the body is not UTF-8: expected JSON');
  if (!isJson(body)) throw malformed('the body is not JSON');
  return body.toString().trim();
}

/** The body of a save. */
export function parseSave(body: Buffer, rules: ParseRules): StateChange[] {
  const text = jsonBody(body);
  if (!text.startsWith('[')) throw malformed('the body is not a JSON array: expected a list of state items');
  const items = jsonElements(text);
  return items.map((item, index) => parseChange('upsert', item, { at: `[${index}]`, rules, ofBody: NO_METADATA }));
}

/** The body of a transaction. */
export function parseTransaction(body: Buffer, rules: ParseRules): StateChange[] {
  const { wire } = rules.form;
  const members = membersOf(jsonBody(body), 'the body', wire);
  const texts = members.list('operations') ?? [];
  if (texts.length > MAX_OPERATIONS) throw tooManyOperations(rules.storeName, texts.length);
  const ofBody = metadataOf(members, 'the body', rules.form);
  return texts.map((text, index) => {
    const at = `operations[${index}]`;
    const operation = membersOf(text, at, wire);
    const name = operation.text('operation') ?? '';
    if (name !== 'upsert' && name !== 'delete') throw unknownOperation(name);
    const request = operation.get('request') ?? 'null';
    return parseChange(name, request, { at: `${at}.request`, rules, ofBody });
  });
}

/** The keys of a bulk read. */
export function parseKeys(body: Buffer, { storeName, form }: Pick<ParseRules, 'storeName' | 'form'>): string[] {
  const members = membersOf(jsonBody(body), 'the body', form.wire);
  const parallelism = members.get('parallelism');
  if (parallelism !== undefined && !/^-?\d+$/.test(parallelism)) throw malformed('parallelism is not an integer');
  metadataOf(members, 'the body', form);
  const keys = members.list('keys') ?? [];
  return keys.map((element) => {
    if (!element.startsWith('"')) throw malformed('keys has an element that is not a text');
    const key = jsonString(element);
    checkKey(storeName, key);
    return key;
  });
}

interface ChangeContext {
  /** Where it stands, for messages. */
  readonly at: string;
  readonly rules: ParseRules;
  /** Metadata that stand behind its own. */
  readonly ofBody: Metadata;
}

function parseChange(kind: StateChange['kind'], text: string, { at, rules, ofBody }: ChangeContext): StateChange {
  const { wire } = rules.form;
  const members = membersOf(text, at, wire);
  const key = members.text('key');
  checkKey(rules.storeName, key);
  const own = metadataOf(members, at, rules.form);
  const metadata = merged(ofBody, own, rules.ofQuery);
  return {
    kind,
    key,
    value: kind === 'delete' ? NOTHING : bytesOf(members),
    etag: etagOf(members, at, wire),
    ...optionsOf(members, at, wire),
    ttlMs: ttlOf(metadata),
    contentType: members.text('contentType') || metadata['contentType'] || undefined,
    metadata,
  };
}

function bytesOf(members: JsonMembers): Uint8Array {
  const value = members.get('value');
  return value === undefined ? NULL : Buffer.from(value);
}

function membersOf(text: string, at: string, { keysInAnyCase }: Wire): JsonMembers {
  return new JsonMembers(text, at, malformed, keysInAnyCase ? NAMES : undefined);
}

function etagOf(members: JsonMembers, at: string, wire: Wire): string | undefined {
  const etag = members.get('etag');
  if (!wire.etagsMayBeObjects || etag?.startsWith('{') !== true) return members.text('etag') || undefined;
  return membersOf(etag, `${at}.etag`, wire).text('value') || undefined;
}

function metadataOf(members: JsonMembers, at: string, form: MetadataForm): Metadata {
  return metadataOfJson(members.get('metadata'), form, (problem) => malformed(`${at}.${problem}`));
}

/** Later ones win. */
function merged(...all: readonly Metadata[]): Metadata {
  const filled = all.filter((metadata) => metadata !== NO_METADATA);
  const [only = NO_METADATA] = filled;
  return filled.length <= 1 ? only : metadataFrom(filled.flatMap((metadata) => Object.entries(metadata)));
}

function optionsOf(members: JsonMembers, at: string, wire: Wire): Pick<StateChange, 'isFirstWrite' | 'isStrong'> {
  const text = members.get('options');
  if (text === undefined) return { isFirstWrite: false, isStrong: false };
  const options = membersOf(text, `${at}.options`, wire);
  return parseOptions(options.text('concurrency'), options.text('consistency'));
}

/** @throws SidecarError `ERR_MALFORMED_REQUEST` for another word: a misspelt one would let writes through */
export function parseOptions(
  concurrency: string | undefined,
  consistency: string | undefined,
): Pick<StateChange, 'isFirstWrite' | 'isStrong'> {
  return {
    isFirstWrite: oneOf('concurrency', concurrency, ['first-write', 'last-write']) === 'first-write',
    isStrong: oneOf('consistency', consistency, ['strong', 'eventual']) === 'strong',
  };
}

function oneOf(name: string, given: string | undefined, words: readonly string[]): string | undefined {
  if (!given || words.includes(given)) return given;
  throw malformed(`${name} is ${quoted(given)}: expected ${words.join(' or ')}`);
}

/** The TTL in metadata; 0 for none, `undefined` if it is not given. */
function ttlOf(metadata: Metadata): number | undefined {
  const text = metadata['ttlInSeconds'];
  if (text === undefined) return undefined;
  if (text === '') return 0;
  const seconds = /^-?\d{1,20}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= -1 && seconds <= MAX_TTL_SECONDS) return Math.max(0, seconds) * 1_000;
  throw malformed(`ttlInSeconds is ${quoted(text)}: expected an integer from -1 to ${MAX_TTL_SECONDS}`);
}
