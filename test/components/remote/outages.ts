import type { RecordingLogger } from '../../support/logger.ts';

const BEGIN_OR_END = /^the state store (does not work|works again)$/;

/** What the log says about failures of a store and their ends. */
export function outages({ lines }: RecordingLogger): readonly string[] {
  return lines.map(({ message }) => message).filter((message) => BEGIN_OR_END.test(message));
}
