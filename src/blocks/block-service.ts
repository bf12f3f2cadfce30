import type { Membership } from '../cluster/membership.ts';

/** The inner side of a block that keeps state: routes, metadata and the sidecar use it; its public class is a façade. */
export interface BlockService {
  /** Prepares everything that must be there before the sidecar runs. */
  open(membership: Membership): Promise<void>;
  /** Begins to work: the sidecar runs. At rest, it only does what it is called for. */
  start(isAtRest: boolean): void;
  /** Begins nothing new, waits for work in flight and closes. Without an `open` before it does nothing. */
  stop(): Promise<void>;
}
