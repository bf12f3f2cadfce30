import type { StateStore } from '../state/store.ts';
import { type Clock, sleep } from '../util/clock.ts';
import { readHosts, type StoredHost } from './hosts.ts';
import { HEARTBEAT_MS, LEASE_MS } from './membership-options.ts';

const LOOK_EVERY_MS = 1_000;

/** The dependencies of {@link watchHosts}. */
export interface HostWatchDeps {
  readonly store: StateStore;
  readonly clock: Clock;
  /** Which hosts count. Default: all. */
  readonly isMeant?: (host: StoredHost) => boolean;
  /** There are records, of which it is not known yet whether their hosts are alive. */
  readonly onWaiting: (hosts: number) => void;
}

/** The hosts that have records in a store. */
export interface WatchedHosts {
  readonly alive: readonly StoredHost[];
  readonly dead: readonly StoredHost[];
}

/**
 * Finds out which hosts of a store are alive, without being one. A live host renews its record, a crashed one has left
 * it behind: that takes 20 s at most, and no time when there is none, or no other process can have the store open.
 */
export async function watchHosts(deps: HostWatchDeps): Promise<WatchedHosts> {
  const { store, clock, onWaiting } = deps;
  const hosts = await recordsIn(deps);
  if (store.isExclusive === true || hosts.length === 0) return { alive: [], dead: hosts };
  const until = clock.now() + LEASE_MS + HEARTBEAT_MS;
  while (clock.now() < until) {
    onWaiting(hosts.length);
    await sleep(clock, LOOK_EVERY_MS);
    const alive = (await recordsIn(deps)).filter((host) => isNew(host, hosts));
    if (alive.length > 0) return { alive, dead: hosts };
  }
  return { alive: [], dead: hosts };
}

async function recordsIn({ store, isMeant = () => true }: HostWatchDeps): Promise<readonly StoredHost[]> {
  const { hosts } = await readHosts(store);
  return hosts.filter(isMeant);
}

/** Whether a record was written since others were read. */
export function isNew({ id, version }: StoredHost, known: readonly StoredHost[]): boolean {
  return !known.some((host) => host.id === id && host.version === version);
}
