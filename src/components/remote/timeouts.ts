import { StateError } from '../../state/errors.ts';
import { MAX_TIMEOUT_MS } from '../../util/clock.ts';

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
    if (!Number.isInteger(value) || value < 1 || value > MAX_TIMEOUT_MS)
      throw new StateError(
        'invalid',
        `${name} ${String(value)} of ${store} must be a whole number from 1 to ${MAX_TIMEOUT_MS}.`,
      );
  return timeouts;
}
