import { MAX_TIMEOUT_MS } from '../../util/clock.ts';
import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { choice, FUNCTION, type OptionFields } from '../../util/option-fields.ts';
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
  readonly callTimeout?: Duration | undefined;
  readonly operationTimeout?: Duration | undefined;
  readonly durability?: RequiredDurability | undefined;
  readonly onCall?: OnCall | undefined;
}

export const REMOTE_STORE_FIELDS: OptionFields<StoreOptions> = {
  durability: choice('synced', 'server'),
  callTimeout: duration(1, MAX_TIMEOUT_MS),
  operationTimeout: duration(1, MAX_TIMEOUT_MS),
  onCall: FUNCTION,
};

/** The time limits among the options, with their defaults. */
export function timeoutsOf({ callTimeout = 5_000, operationTimeout = 10_000 }: StoreOptions): RemoteTimeouts {
  return { callTimeoutMs: msOf(callTimeout), operationTimeoutMs: msOf(operationTimeout) };
}
