import { isConflictError, StateError } from '../state/errors.ts';
import { keyOf } from '../state/keys.ts';
import type { Precondition, StateStore } from '../state/store.ts';

/** Present in the target of a move until the move has ended. No sidecar works on such a store. */
export const MARK_KEY: string = keyOf('move');

/** Holds in every store but the target of a move that has not ended. */
export const NO_MARK: Precondition = { key: MARK_KEY, version: 'absent' };

/** @throws StateError `failed` if the store is the target of a move that has not ended. */
export async function refuseUnfinishedMove(store: StateStore, place: string): Promise<void> {
  // A store that does not work is not waited for here: the first commit looks for the mark as well.
  if (store.failure !== undefined) return;
  const mark = await store.get(MARK_KEY).catch(() => undefined);
  if (mark !== undefined) throw unfinishedError(`The state in ${place}`);
}

/** Whether a commit was refused because of the mark. */
export function isMarkConflict(error: unknown): boolean {
  return isConflictError(error) && error.key === MARK_KEY;
}

export function unfinishedError(what: string, cause?: unknown): StateError {
  return new StateError(
    'failed',
    `${what} is incomplete: a move to it has not ended. Run insidecar migrate-state again.`,
    cause,
  );
}
