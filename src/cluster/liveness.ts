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
  readonly areHostsLocal: boolean;
}

/**
 * Decides which hosts are alive. A host is dead if its record has not changed for too long by the observer's own clock,
 * so clocks need not agree. If all hosts must be in this process, a host that is not is dead at once.
 */
export class Liveness {
  readonly #deps: LivenessDeps;
  readonly #seen = new Map<string, { readonly version: number; readonly at: DualInstant }>();
  /** When hosts renewed their records, as hints told. */
  readonly #heard = new Map<string, DualInstant>();
  #lookedAt: DualInstant | undefined;

  constructor(deps: LivenessDeps) {
    this.#deps = deps;
  }

  /** Records the hosts in the store at an instant. */
  observe({ hosts }: HostTable, now: DualInstant): void {
    const present = new Set<string>();
    // Silence counts only while this host observes: not while it slept, the store was down, or its clock was set.
    const lookedAt = this.#lookedAt ?? now;
    const sinceLastMs = elapsedMs(lookedAt, now);
    this.#lookedAt = now;
    if (sinceLastMs < 0 || sinceLastMs >= this.#deps.silenceMs) this.#seen.clear();
    for (const { id, version } of hosts) {
      present.add(id);
      if (this.#seen.get(id)?.version !== version)
        this.#seen.set(id, { version, at: this.#changedAt(id, lookedAt, now) });
    }
    for (const id of this.#seen.keys()) if (!present.has(id)) this.#seen.delete(id);
  }

  /** When a record changed that had not changed at `lookedAt`: when a hint told of it, else now at the latest. */
  #changedAt(id: string, lookedAt: DualInstant, now: DualInstant): DualInstant {
    const heard = this.#heard.get(id);
    this.#heard.delete(id);
    return heard === undefined || elapsedMs(heard, now) > elapsedMs(lookedAt, now) ? now : heard;
  }

  /** A hint says that a host has renewed its record. */
  hear(id: string, now: DualInstant): void {
    if (this.#seen.has(id)) this.#heard.set(id, now);
  }

  /** How soon another host will count as dead if it stays silent; infinite if there is none, or all are in this process. */
  deadInMs(now: DualInstant, ownId: string): number {
    const { areHostsLocal, silenceMs } = this.#deps;
    let soonestMs = Number.POSITIVE_INFINITY;
    if (areHostsLocal) return soonestMs;
    for (const [id, { at }] of this.#seen) {
      const restMs = silenceMs - elapsedMs(at, now);
      if (id !== ownId && restMs > 0 && restMs < soonestMs) soonestMs = restMs;
    }
    return soonestMs;
  }

  /** Whether a host existed at the last observation. */
  knows(id: string): boolean {
    return this.#seen.has(id);
  }

  isLive({ id, appId }: StoredHost, now: DualInstant): boolean {
    const { areHostsLocal, local, silenceMs } = this.#deps;
    if (areHostsLocal && !local.has(id)) return false;
    // In one process, a host that is alone with its app ID does not renew its record.
    if (areHostsLocal && appId !== this.#deps.appId) return true;
    return elapsedMs(this.#seen.get(id)?.at ?? now, now) < silenceMs;
  }
}
