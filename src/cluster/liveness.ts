import { type DualInstant, elapsedMs } from '../util/clock.ts';
import type { HostTable, StoredHost } from './hosts.ts';
import type { LocalHosts } from './local-hosts.ts';

/** The dependencies of {@link Liveness}. */
export interface LivenessDeps {
  readonly local: LocalHosts;
  readonly appId: string;
  /** A host is dead if its record has not changed for this long. */
  readonly silenceMs: number;
  /** Whether all hosts of the store are known to be in this process. */
  readonly areHostsLocal: () => boolean;
}

/**
 * Decides which hosts are alive. A host is dead if its record has not changed for too long by the observer's own clock,
 * so clocks need not agree. If all hosts must be in this process, a host that is not is dead at once.
 */
export class Liveness {
  readonly #deps: LivenessDeps;
  readonly #seen = new Map<string, { readonly version: number; readonly at: DualInstant }>();
  #lookedAt: DualInstant | undefined;

  constructor(deps: LivenessDeps) {
    this.#deps = deps;
  }

  /** Records the hosts in the store at an instant; returns whether one of them was not known. */
  observe({ hosts }: HostTable, now: DualInstant): boolean {
    const present = new Set<string>();
    const hasNew = hosts.some(({ id }) => !this.knows(id));
    // Silence counts only while this host observes: not while it slept, the store was down, or its clock was set.
    const sinceLastMs = elapsedMs(this.#lookedAt ?? now, now);
    this.#lookedAt = now;
    if (sinceLastMs < 0 || sinceLastMs >= this.#deps.silenceMs) this.#seen.clear();
    for (const { id, version } of hosts) {
      present.add(id);
      if (this.#seen.get(id)?.version !== version) this.#seen.set(id, { version, at: now });
    }
    for (const id of this.#seen.keys()) if (!present.has(id)) this.#seen.delete(id);
    return hasNew;
  }

  /** How soon another host will count as dead if it stays silent; infinite if there is none, or all are in this process. */
  deadInMs(now: DualInstant, ownId: string): number {
    const { areHostsLocal, silenceMs } = this.#deps;
    let soonestMs = Number.POSITIVE_INFINITY;
    if (areHostsLocal()) return soonestMs;
    for (const [id, { at }] of this.#seen) {
      const restMs = silenceMs - elapsedMs(at, now);
      // One that is dead already must not hide the next.
      if (id !== ownId && restMs > 0) soonestMs = Math.min(soonestMs, restMs);
    }
    return soonestMs;
  }

  /** Since when the records have not been read. */
  unreadMs(now: DualInstant): number {
    return this.#lookedAt === undefined ? Number.POSITIVE_INFINITY : elapsedMs(this.#lookedAt, now);
  }

  /** Whether a host has been seen. */
  knows(id: string): boolean {
    return this.#seen.has(id);
  }

  isLive({ id, appId }: StoredHost, now: DualInstant): boolean {
    const { areHostsLocal, local, silenceMs } = this.#deps;
    const isLocal = areHostsLocal();
    if (isLocal && !local.has(id)) return false;
    // In one process, a host that is alone with its app ID does not renew its record.
    if (isLocal && appId !== this.#deps.appId) return true;
    return elapsedMs(this.#seen.get(id)?.at ?? now, now) < silenceMs;
  }
}
