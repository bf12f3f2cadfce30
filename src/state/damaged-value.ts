import type { StateError } from './errors.ts';

/**
 * The value of an entry that the store has found damaged. `readValue` throws its error, and no store takes it, so that
 * a damage is not copied. It is empty, which no block takes for a value either.
 */
export class DamagedValue extends Uint8Array {
  static readonly [Symbol.species]: Uint8ArrayConstructor = Uint8Array;
  /** Names the entry, and where it is stored. */
  readonly error: StateError;

  constructor(error: StateError) {
    super(0);
    this.error = error;
  }
}

/** @throws StateError `corrupt` if the value is damaged */
export function checkIntact(value: Uint8Array): void {
  if (value instanceof DamagedValue) throw value.error;
}
