import type { StateStore } from '../state/store.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

/** The interval at which a host renews its record if there are other hosts. */
export const HEARTBEAT_MS = 5_000;
/** Without a renewal for this long, a host loses its shards. Also the limit of a hand-over. */
export const LEASE_MS = 15_000;

/** The options of a {@link Membership}. */
export interface MembershipOptions {
  readonly store: StateStore;
  readonly appId: string;
  readonly namespace: string;
  readonly address?: string | undefined;
  readonly actorTypes?: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly newId: () => string;
  /** Registers work that tests wait for. Call the returned function at its end. */
  readonly track: (what: string) => () => void;
  /** Default 5 s. */
  readonly heartbeatMs?: number;
  /** Default 15 s. */
  readonly leaseMs?: number;
}
