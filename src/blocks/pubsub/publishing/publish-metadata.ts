import { parseGoDuration } from '../../../util/duration.ts';
import { parseGoBoolean } from '../../../util/go-boolean.ts';
import type { Wire } from '../../../wire.ts';
import { knownMetadata, type Metadata, type MetadataForm, metadataFrom, NO_METADATA } from '../../request-metadata.ts';
import { invalidMetadata } from '../errors.ts';

/** The attributes of the envelope that metadata may replace. */
const ATTRIBUTES: object = knownMetadata(
  ['id', 'source', 'type', 'subject', 'traceid', 'traceparent', 'tracestate'].map((name) => `cloudevent.${name}`),
);

/** How metadata of publish requests are read. */
export function publishForm(wire: Wire): MetadataForm {
  return { wire, known: ATTRIBUTES };
}

/** Merges the metadata of a bulk entry and its request. The entry wins, whichever name each uses for the TTL. */
export function mergedMetadata(ofRequest: Metadata, ofEntry: Metadata): Metadata {
  const own = Object.entries(ofEntry);
  if (own.length === 0) return ofRequest;
  const hasTtl = own.some(([name]) => isTtl(name));
  const inherited = Object.entries(ofRequest).filter(([name]) => !(hasTtl && isTtl(name)));
  return metadataFrom([...inherited, ...own]);
}

function isTtl(name: string): boolean {
  const key = name.toLowerCase();
  return key === 'ttlinseconds' || key === 'ttl';
}

/** The publish options in metadata. */
export interface PublishRules {
  /** Publish the bytes without an envelope. */
  readonly rawPayload: boolean;
  /** The time to live of the message, in milliseconds. */
  readonly ttlMs?: number;
}

const DEFAULT_RULES: PublishRules = { rawPayload: false };

/**
 * Reads `rawPayload` and `ttlInSeconds` (or `ttl`, in any case). A bad TTL is refused beside a good one too: which of
 * them was meant is not known. Of several good ones, `ttlInSeconds` itself counts, else the first.
 *
 * @throws SidecarError `ERR_PUBSUB_REQUEST_METADATA` for an invalid value.
 */
export function publishRules(metadata: Metadata, pubsubName: string): PublishRules {
  if (metadata === NO_METADATA) return DEFAULT_RULES;
  const raw = metadata['rawPayload'];
  const rawPayload = raw === undefined ? false : parseGoBoolean(raw);
  if (rawPayload === undefined)
    throw invalidMetadata(pubsubName, metadata, `rawPayload value must be a valid boolean: actual is '${raw}'`);
  let found: number | undefined;
  for (const [name, value] of Object.entries(metadata)) {
    if (!isTtl(name)) continue;
    const ttlMs = readTtl(value);
    const expected = 'a positive number of seconds or a duration such as 1m30s';
    if (ttlMs === undefined)
      throw invalidMetadata(pubsubName, metadata, `${name} must be ${expected}: actual is '${value}'`);
    if (found === undefined || name === 'ttlInSeconds') found = ttlMs;
  }
  return found === undefined ? { rawPayload } : { rawPayload, ttlMs: found };
}

/** Longer times would exceed the range of dates. */
const MAX_TTL_MS = 100 * 365 * 24 * 3_600_000;

function readTtl(value: string): number | undefined {
  const ttlMs = /^\d+$/.test(value) ? Number(value) * 1_000 : parseGoDuration(value);
  return ttlMs === undefined || ttlMs <= 0 ? undefined : Math.min(ttlMs, MAX_TTL_MS);
}

/**
 * Reads `maxBulkPubBytes`; no limit if it is absent.
 *
 * @throws SidecarError `ERR_PUBSUB_REQUEST_METADATA` if it is not a positive integer.
 */
export function maxBulkPubBytes(metadata: Metadata, pubsubName: string): number {
  const value = metadata['maxBulkPubBytes'];
  if (value === undefined) return Number.POSITIVE_INFINITY;
  if (!/^\d+$/.test(value) || Number(value) === 0)
    throw invalidMetadata(pubsubName, metadata, `maxBulkPubBytes must be a positive integer: actual is '${value}'`);
  return Number(value);
}
