import type { RecordingLogger } from '../../support/logger.ts';

export const LOST = 'no connection to the server: trying again';
export const BACK = 'connected to the server again';
const BEGIN_OR_END = /^the state store (does not work|works again)$/;

/** What the log says about failures of a store and their ends, in order. */
export function outages({ lines }: RecordingLogger): readonly string[] {
  return lines
    .map(({ message }) => message)
    .filter((message) => message === LOST || message === BACK || BEGIN_OR_END.test(message));
}
