import type { StateStore } from '../state/store.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

/** How often a host tells that it is alive, where there are others. */
export const HEARTBEAT_MS = 5_000;
/** The shards of a host that has not told for so long are another's; one that is not handed over by then is taken away. */
export const LEASE_MS = 15_000;

/** What a host is, and where. */
export interface MembershipOptions {
  readonly store: StateStore;
  readonly appId: string;
  readonly namespace: string;
  readonly address?: string | undefined;
  readonly actorTypes?: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly newId: () => string;
  /** Notes work that a test waits for; call what it returns at its end. */
  readonly track: (what: string) => () => void;
  /** Default 5 s. */
  readonly heartbeatMs?: number;
  /** Default 15 s. */
  readonly leaseMs?: number;
}
