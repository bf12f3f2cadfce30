import type { Entry, Put } from '../../../state/store.ts';
import { readValue, withFormat } from '../../../state/values.ts';
import type { Payload } from '../model/payload.ts';

/** Format 1: the text. */
const FORMAT = 1;

/** The entry of the input of an offered attempt: it is not in the offer, which all hosts keep in memory. */
export function attemptInputPuts(key: string, input: Payload): readonly Put[] {
  return input === undefined ? [] : [{ key, value: withFormat(FORMAT, Buffer.from(input)) }];
}

/** `undefined` without an input, and when the offer has gone. */
export function attemptInputOf(key: string, entry: Entry | undefined): Payload {
  return entry && readValue(key, entry.value, { [FORMAT]: (payload) => Buffer.from(payload).toString() });
}
