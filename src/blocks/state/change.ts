import type { WriteCondition } from '../../components/key-value.ts';
import type { Metadata } from '../request-metadata.ts';

/** A checked change of one key, as a request asks for it. */
export interface StateChange {
  readonly kind: 'upsert' | 'delete';
  readonly key: string;
  /** The text of the JSON value of an upsert, in UTF-8. */
  readonly value: Uint8Array;
  /** The ETag that the key must have now. */
  readonly etag?: string | undefined;
  /** Whether the key must not exist, if there is no ETag. */
  readonly isFirstWrite: boolean;
  /** Whether to wait for replicas. */
  readonly isStrong: boolean;
  /** How long the value exists; 0 for ever, `undefined` as the store's options say. */
  readonly ttlMs?: number | undefined;
  /** The media type of the value in an event. */
  readonly contentType?: string | undefined;
  readonly metadata: Metadata;
}

/** The condition of a change. */
export function conditionOf({ etag, isFirstWrite }: StateChange): WriteCondition | undefined {
  if (etag !== undefined) return { etag };
  return isFirstWrite ? 'absent' : undefined;
}

const PROJECTION = 'outbox.projection';

/** Whether the value is not for the store, but for the event of another change of the key. */
export function isProjection({ kind, metadata }: StateChange): boolean {
  return kind === 'upsert' && metadata[PROJECTION]?.toLowerCase() === 'true';
}
