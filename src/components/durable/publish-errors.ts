import { isStateError, StateError, type StateErrorKind } from '../../state/errors.ts';
import { MAX_VALUE_BYTES } from '../../state/store.ts';
import type { PublishFailure } from '../pubsub.ts';
import { QueueFullError } from './backlog.ts';

/** The longest value of a publish: the fields that a retry adds must still fit into the store's limit. */
export const MAX_BYTES: number = MAX_VALUE_BYTES - 64;

const TOO_LARGE =
  'the message is too large: it may have 8 MiB with its envelope, and 64 MiB for all groups of its topic together';

const TEXTS: ReadonlyMap<StateErrorKind, string> = new Map([
  ['full', 'the state store has no space left'],
  ['corrupt', 'an entry of the state store is damaged'],
  ['newer-format', 'an entry of the state store has the format of a newer release'],
]);

export function tooLarge(bytes: number): StateError {
  return new StateError('invalid', `The message has ${bytes} bytes: at most ${MAX_BYTES} are kept.`);
}

/** The error for publishers, who may be remote: without the keys and paths in the store's own message. */
export function refusalOf(cause: unknown): Error {
  if (cause instanceof QueueFullError) return cause;
  const kind = isStateError(cause) ? cause.kind : 'failed';
  if (kind === 'invalid') return new Error(TOO_LARGE, { cause });
  return new Error(TEXTS.get(kind) ?? 'the state store has failed', { cause });
}

/** @throws Error made by {@link refusalOf} */
export function refuse(cause: unknown): never {
  throw refusalOf(cause);
}

const NO_FAILURES: readonly PublishFailure[] = [];

export function noFailures(): readonly PublishFailure[] {
  return NO_FAILURES;
}
