import { StateError } from '../../state/errors.ts';
import { MAX_TIMEOUT_MS } from '../../util/clock.ts';
import { choice, FUNCTION, type OptionFields, whole } from '../../util/option-fields.ts';
import type { RequiredDurability } from './durability.ts';
import type { OnCall } from './observed-server.ts';

/** Time limits, in milliseconds. */
export interface RemoteTimeouts {
  /** The limit of one call to the server. */
  readonly callTimeoutMs: number;
  /** The limit of a commit or a read, with all attempts and reconnections. */
  readonly operationTimeoutMs: number;
}

/** The options that all stores on a server have. */
interface StoreOptions {
  readonly callTimeoutMs?: number | undefined;
  readonly operationTimeoutMs?: number | undefined;
  readonly durability?: RequiredDurability | undefined;
  readonly onCall?: OnCall | undefined;
}

export const REMOTE_STORE_FIELDS: OptionFields<StoreOptions> = {
  durability: choice('synced', 'server'),
  callTimeoutMs: whole(1, MAX_TIMEOUT_MS),
  operationTimeoutMs: whole(1, MAX_TIMEOUT_MS),
  onCall: FUNCTION,
};

/** The time limits among the options, with their defaults. */
export function timeoutsOf({ callTimeoutMs = 5_000, operationTimeoutMs = 10_000 }: StoreOptions): RemoteTimeouts {
  return { callTimeoutMs, operationTimeoutMs };
}

/** The error for wrong options. */
export function invalidOptions(message: string): StateError {
  return new StateError('invalid', message);
}
