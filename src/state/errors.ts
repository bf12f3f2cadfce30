import { SidecarError, type StateErrorCode } from '../errors.ts';

/**
 * Why a {@link StateError} was thrown.
 *
 * - `conflict`: a precondition of the batch did not hold; nothing was written.
 *   Fix: Read, decide and commit again.
 * - `invalid`: the call itself is wrong (a key, a value, a batch, a range); nothing was written.
 *   Fix: Correct the call.
 * - `closed`: the store is closed or closing; nothing was written.
 *   Fix: Use the store before it closes.
 * - `in-use`: another process (or this one) has the store open, and does not share it.
 *   Fix: Stop the other process, or give this one a directory of its own.
 * - `full`: the disk is full; nothing was written. Writes work again once there is space.
 *   Fix: Make space.
 * - `read-only`: the location cannot be created or written to.
 *   Fix: Give the user of the process the right to write there.
 * - `corrupt`: the stored data is damaged, or is not a store.
 *   Fix: Restore a backup, or move the directory away to begin with none.
 * - `newer-format`: a later release wrote the data.
 *   Fix: Install that release, or a later one.
 * - `driver-missing`: a required package is not installed.
 *   Fix: Install the package that the message names.
 * - `failed`: any other error of the engine. The commit may or may not have been written.
 *   Fix: Read the entry to see whether it was written.
 *
 * @public
 */
export type StateErrorKind =
  | 'conflict'
  | 'invalid'
  | 'closed'
  | 'in-use'
  | 'full'
  | 'read-only'
  | 'corrupt'
  | 'newer-format'
  | 'driver-missing'
  | 'failed';

const BRAND = Symbol.for('insidecar.StateError');

/**
 * The error that a state store rejects with: a {@link SidecarError} whose code is its kind, such as `ERR_STATE_IN_USE`.
 * Its message names the offending value and what was expected. Recognise it by its code, or with {@link isStateError},
 * which also works across two loaded copies of the package.
 *
 * @public
 */
export class StateError extends SidecarError {
  /** `StateError`. */
  override readonly name: string = 'StateError';
  /** The kind of the error; stable across releases. */
  readonly kind: StateErrorKind;

  /** Makes an error; `cause` is the engine's error, if there is one. */
  constructor(kind: StateErrorKind, message: string, cause?: unknown) {
    super(codeOf(kind), message, { cause });
    this.kind = kind;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/**
 * A precondition of a batch did not hold, so nothing of the batch was written. Read, decide and commit again. Recognise
 * it with {@link isConflictError}.
 *
 * @public
 */
export class ConflictError extends StateError {
  /** `ConflictError`. */
  override readonly name: string = 'ConflictError';
  /** The key of the first precondition that did not hold. */
  readonly key: string;

  /** Makes the error of a key. */
  constructor(key: string) {
    super('conflict', `The entry ${quote(key)} is not at the required version: it was changed meanwhile.`);
    this.key = key;
  }
}

function codeOf(kind: StateErrorKind): StateErrorCode {
  return `ERR_STATE_${kind.toUpperCase().replace('-', '_')}` as StateErrorCode;
}

/** Whether a thrown value is a {@link StateError}, from this or another copy of the package. @public */
export function isStateError(value: unknown): value is StateError {
  return typeof value === 'object' && value !== null && BRAND in value;
}

/** Whether a thrown value is a {@link ConflictError}, from this or another copy of the package. @public */
export function isConflictError(value: unknown): value is ConflictError {
  return isStateError(value) && value.kind === 'conflict';
}

/** The log fields of a store's failure. The stack of a missing package says nothing. */
export function failureFields(error: StateError): { readonly error: StateError } | { readonly reason: string } {
  return error.kind === 'driver-missing' ? { reason: error.message } : { error };
}

/** The error of every call on a closed store. */
export function closedError(): StateError {
  return new StateError('closed', 'The state store is closed.');
}

/** The error of a store that refuses the version of an entry which it has just answered. */
export function contradictionError(key: string): StateError {
  return new StateError('corrupt', `The store answers a version of ${quote(key)} that it refuses: it is damaged.`);
}

const SHOWN_CHARACTERS = 80;

/** Formats a key or other text for an error message: quoted, control characters escaped, cut if long. */
export function quote(text: string): string {
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  return JSON.stringify(shown);
}
