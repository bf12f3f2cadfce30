import { readValue, withFormat } from '../../../state/values.ts';

/** A value of an actor's state, as it is stored. */
export interface StoredActorValue {
  /** JSON text, as it was sent. */
  readonly text: string;
  /** When it ends, in milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  /** Its actor and its key: a long key is a digest in the store. */
  readonly key: string;
}

const FORMAT = 1;

/** One line with key and end, then the text of the value. */
export function encodeActorValue({ text, expiresAt, key }: StoredActorValue): Uint8Array {
  return withFormat(FORMAT, Buffer.from(`${JSON.stringify({ key, expiresAt })}\n${text}`));
}

/** @throws StateError for a value that is damaged, or that a later release wrote */
export function decodeActorValue(key: string, value: Uint8Array): StoredActorValue {
  return readValue(key, value, {
    [FORMAT]: (payload) => {
      const whole = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString();
      const end = whole.indexOf('\n');
      const head = JSON.parse(whole.slice(0, end)) as { readonly key: string; readonly expiresAt?: number };
      return { text: whole.slice(end + 1), expiresAt: head.expiresAt, key: head.key };
    },
  });
}
