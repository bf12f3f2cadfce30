import { readValue, withFormat } from '../../state/values.ts';

/** Format 1 of records other than messages: JSON. */
const RECORD_FORMAT = 1;

export function record(content: unknown): Uint8Array {
  return withFormat(RECORD_FORMAT, Buffer.from(JSON.stringify(content)));
}

/**
 * Reads a record.
 *
 * @param expected - what it must be, for the error
 * @throws StateError of kind `corrupt` when it is something else
 */
export function readRecord<T>(
  key: string,
  value: Uint8Array,
  expected: { readonly what: string; readonly is: (content: unknown) => content is T },
): T {
  return readValue(key, value, {
    [RECORD_FORMAT]: (payload) => {
      const content: unknown = JSON.parse(Buffer.from(payload).toString());
      if (expected.is(content)) return content;
      throw new Error(`${expected.what} was expected`);
    },
  });
}

/** A record that is a count. */
export const COUNT = {
  what: 'a count',
  is: (content: unknown): content is number => Number.isSafeInteger(content) && Number(content) >= 0,
};

/** A record that is an object. */
export const OBJECT = {
  what: 'an object',
  is: (content: unknown): content is object => typeof content === 'object' && content !== null,
};
