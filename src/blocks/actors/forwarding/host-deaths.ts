import { type Clock, sleep } from '../../../util/clock.ts';

/** How often it is looked for hosts that have died. */
const LOOK_MS = 2_000;

/** Tells calls under way that their host has died: a connection alone may not show it. */
export class HostDeaths {
  readonly #clock: Clock;
  readonly #isLive: (hostId: string) => Promise<boolean>;
  readonly #listeners = new Map<string, Set<() => void>>();
  #isLooking = false;

  constructor(clock: Clock, isLive: (hostId: string) => Promise<boolean>) {
    this.#clock = clock;
    this.#isLive = isLive;
  }

  /** Calls back when the host is considered dead; call the result to unsubscribe. */
  onDeath(hostId: string, listener: () => void): () => void {
    const present = this.#listeners.get(hostId);
    if (present === undefined) this.#listeners.set(hostId, new Set([listener]));
    else present.add(listener);
    if (!this.#isLooking) void this.#look();
    return () => {
      const listeners = this.#listeners.get(hostId);
      listeners?.delete(listener);
      if (listeners?.size === 0) this.#listeners.delete(hostId);
    };
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    while (this.#listeners.size > 0) {
      await sleep(this.#clock, LOOK_MS);
      for (const hostId of [...this.#listeners.keys()]) {
        // A store that cannot be read says nothing.
        const isLive = await this.#isLive(hostId).catch(() => true);
        if (!isLive) for (const listener of [...(this.#listeners.get(hostId) ?? [])]) listener();
      }
    }
    this.#isLooking = false;
  }
}
