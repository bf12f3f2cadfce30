import { jsonMembers, jsonString, parseJsonObject } from '../../util/json-text.ts';
import type { Wire } from '../../wire.ts';
import { knownMetadata, type Metadata, metadataOfJson } from '../request-metadata.ts';
import { malformedInvocation } from './errors.ts';

/** A call of an output binding. */
export interface BindingInvocation {
  /** Empty if it is missing. */
  readonly operation: string;
  /** JSON text. */
  readonly data: Uint8Array;
  readonly metadata: Metadata;
}

const NULL = 'null';
/** Names of metadata are as they are written. */
const KNOWN = knownMetadata([]);

/** Reads the body of a call. The data stay as they are written: numbers keep every digit. */
export function parseInvocation(body: Buffer, wire: Wire): BindingInvocation {
  const members = new Map<string, string>();
  for (const { key, value } of jsonMembers(parseJsonObject(body, malformedInvocation).text))
    members.set(wire.keysInAnyCase ? key.toLowerCase() : key, value);
  return {
    operation: operationOf(members.get('operation') ?? NULL),
    data: Buffer.from(members.get('data') ?? NULL),
    metadata: metadataOfJson(members.get('metadata'), { wire, known: KNOWN }, malformedInvocation),
  };
}

function operationOf(text: string): string {
  if (text === NULL) return '';
  if (text.startsWith('"')) return jsonString(text);
  throw malformedInvocation(`operation is ${text.slice(0, 64)}: expected a string`);
}
