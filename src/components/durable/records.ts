import { readValue, withFormat } from '../../state/values.ts';

/** Format 1 of records other than messages: JSON. */
const RECORD_FORMAT = 1;

export function record(content: unknown): Uint8Array {
  return withFormat(RECORD_FORMAT, Buffer.from(JSON.stringify(content)));
}

export function readRecord(key: string, value: Uint8Array): unknown {
  return readValue(key, value, {
    [RECORD_FORMAT]: (payload) => JSON.parse(Buffer.from(payload).toString()) as unknown,
  });
}
