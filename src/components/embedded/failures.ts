import { isStateError, quote, StateError, type StateErrorKind } from '../../state/errors.ts';

/** The primary result codes of SQLite with a specific kind (sqlite.org/rescode.html). */
const KIND_BY_CODE: Readonly<Record<number, StateErrorKind>> = {
  3: 'read-only',
  5: 'in-use',
  6: 'in-use',
  8: 'read-only',
  11: 'corrupt',
  13: 'full',
  14: 'read-only',
  26: 'corrupt',
};
const PRIMARY_CODE_MASK = 0xff;
const CORRUPT = 11;

const KIND_BY_ERRNO: Readonly<Record<string, StateErrorKind>> = {
  EACCES: 'read-only',
  EPERM: 'read-only',
  EROFS: 'read-only',
  ENOTDIR: 'read-only',
  EEXIST: 'read-only',
  // The result of creating a directory with its parents on a read-only file system.
  ENOENT: 'read-only',
  ENOSPC: 'full',
  EDQUOT: 'full',
  // A number that no release writes.
  ERR_OUT_OF_RANGE: 'corrupt',
};

const MEANING: Partial<Readonly<Record<StateErrorKind, string>>> = {
  'read-only': 'cannot be created or written to',
  'in-use': 'is in use',
  corrupt: 'does not hold a state database, or a damaged one; restore it from a copy',
  full: 'is on a full disk; it works again once there is space',
};

/** An error like that of SQLite for a damaged file. */
export function corruptError(message: string): Error {
  return Object.assign(new Error(message), { errcode: CORRUPT });
}

/** The kind of an error of SQLite or the file system. */
export function kindOf(error: unknown): StateErrorKind {
  const { errcode, code } = error as { errcode?: unknown; code?: unknown };
  return (
    (typeof errcode === 'number' ? KIND_BY_CODE[errcode & PRIMARY_CODE_MASK] : undefined) ??
    (typeof code === 'string' ? KIND_BY_ERRNO[code] : undefined) ??
    'failed'
  );
}

/** Translates an error of SQLite or the file system for a state directory. */
export function stateErrorOf(error: unknown, path: string): StateError {
  if (isStateError(error)) return error;
  const { message } = error as { message?: unknown };
  const kind = kindOf(error);
  const meaning = MEANING[kind] ?? 'has failed';
  return new StateError(kind, `The state directory ${quote(path)} ${meaning} (${String(message ?? error)}).`, error);
}

/**
 * Whether the store can recover without being reopened. After a failed read or sync the state of the disk is unknown (a
 * later sync may succeed without having written), so only certainly harmless failures qualify.
 */
export function canRecover(kind: StateErrorKind): boolean {
  return kind === 'full' || kind === 'read-only' || kind === 'in-use';
}
