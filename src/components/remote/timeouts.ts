import { StateError } from '../../state/errors.ts';

/** Time limits, in milliseconds. */
export interface RemoteTimeouts {
  /** The limit of one call to the server. */
  readonly callTimeoutMs: number;
  /** The limit of a commit or a read, with all attempts and reconnections. */
  readonly operationTimeoutMs: number;
}

/**
 * The time limits among the options of a store; fills in defaults.
 *
 * @param store - for messages
 * @throws StateError `invalid`
 */
export function timeoutsOf(
  { callTimeoutMs = 5_000, operationTimeoutMs = 10_000 }: Partial<RemoteTimeouts>,
  store: string,
): RemoteTimeouts {
  const timeouts = { callTimeoutMs, operationTimeoutMs };
  for (const [name, value] of Object.entries(timeouts))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new StateError('invalid', `${name} ${String(value)} of ${store} must be a whole number of 1 or more.`);
  return timeouts;
}
