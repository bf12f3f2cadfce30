import { isUtf8 } from 'node:buffer';
import { SidecarError } from '../../../errors.ts';
import { MAX_VALUE_BYTES } from '../../../state/store.ts';
import { isJson } from '../../../util/is-json.ts';
import { jsonElements } from '../../../util/json-text.ts';
import { shown } from '../../../util/shown.ts';
import type { Wire } from '../../../wire.ts';
import { JsonMembers } from '../../json-members.ts';
import type { ActorAddress } from '../model/address.ts';
import { checkStateKey } from '../model/names.ts';

/** An operation of a transaction. */
export interface StateOperation {
  readonly kind: 'upsert' | 'delete';
  readonly key: string;
  /** JSON text, as it was sent. */
  readonly text: string;
  /** When the value ends, in milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  /** The version that the value must have. */
  readonly etag: string | undefined;
}

/** The longest end of a value: beyond a hundred years there is none. */
const MAX_TTL_SECONDS = 3_155_760_000;
/** What else an entry has beside its value: its key and its end. */
const HEAD_BYTES = 1_024;
const MAX_OPERATIONS = 10_000;
const NAMES: ReadonlyMap<string, string> = new Map(
  ['operation', 'request', 'key', 'value', 'etag', 'metadata', 'ttlInSeconds'].map((name) => [
    name.toLowerCase(),
    name,
  ]),
);

/** @throws SidecarError `ERR_MALFORMED_REQUEST`, before anything is written */
export function parseTransaction(body: Buffer, address: ActorAddress, { wire, now }: ParseContext): StateOperation[] {
  if (!isUtf8(body) || !isJson(body)) throw malformed('the body is not JSON');
  const text = body.toString().trim();
  if (!text.startsWith('[')) throw malformed('the body is not a JSON array: expected a list of operations');
  const elements = jsonElements(text);
  if (elements.length > MAX_OPERATIONS)
    throw malformed(`the transaction has ${elements.length} operations: expected at most ${MAX_OPERATIONS}`);
  return elements.map((element, index) => parseOperation(element, address, { wire, now, at: `[${index}]` }));
}

/** What a transaction is read with. */
export interface ParseContext {
  readonly wire: Wire;
  readonly now: number;
}

function parseOperation(
  text: string,
  address: ActorAddress,
  { wire, now, at }: ParseContext & { at: string },
): StateOperation {
  const names = wire.keysInAnyCase ? NAMES : undefined;
  const operation = new JsonMembers(text, at, malformed, names);
  const kind = operation.text('operation');
  if (kind !== 'upsert' && kind !== 'delete')
    throw malformed(`${at}.operation is ${shown(kind)}: expected upsert or delete`);
  const given = operation.get('request');
  if (given === undefined) throw malformed(`${at}.request is missing`);
  const request = new JsonMembers(given, `${at}.request`, malformed, names);
  const key = request.text('key');
  if (key === undefined || key === '') throw malformed(`${at}.request.key is missing`);
  checkStateKey(address, key);
  const etag = request.text('etag') || undefined;
  const value = request.get('value') ?? 'null';
  if (value.length > MAX_VALUE_BYTES - HEAD_BYTES || Buffer.byteLength(value) > MAX_VALUE_BYTES - HEAD_BYTES)
    throw malformed(`${at}.request.value is larger than ${MAX_VALUE_BYTES - HEAD_BYTES} bytes`);
  const ttlMs = ttlOf(request.get('metadata'), `${at}.request.metadata`, names);
  const expiresAt = kind === 'delete' || ttlMs === undefined ? undefined : Math.ceil(now + ttlMs);
  return { kind, key, text: value, expiresAt, etag };
}

function ttlOf(
  text: string | undefined,
  at: string,
  names: ReadonlyMap<string, string> | undefined,
): number | undefined {
  if (text === undefined) return undefined;
  const given = new JsonMembers(text, at, malformed, names).get('ttlInSeconds');
  if (given === undefined) return undefined;
  const value: unknown = JSON.parse(given);
  const seconds = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (seconds < 1 || seconds > MAX_TTL_SECONDS)
    throw malformed(
      `${at}.ttlInSeconds is ${shown(value)}: expected a text with an integer from 1 to ${MAX_TTL_SECONDS}`,
    );
  return seconds * 1_000;
}

function malformed(problem: string): SidecarError {
  return new SidecarError('ERR_MALFORMED_REQUEST', problem);
}
