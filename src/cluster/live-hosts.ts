import type { Precondition } from '../state/store.ts';
import type { Logger } from '../util/logger.ts';
import { hostKey } from './hosts.ts';
import type { ShardHosts } from './shards.ts';

/** The dependencies of {@link LiveHosts}. */
export interface LiveHostsDeps {
  /** The ID of this host. */
  readonly ownId: () => string;
  /** Whether other hosts may consider this host dead. */
  readonly isOverdue: () => boolean;
  readonly logger: Logger;
}

/** The live hosts of one app ID, as this host knows them. */
export class LiveHosts implements ShardHosts {
  readonly #deps: LiveHostsDeps;
  readonly #listeners = new Set<() => void>();
  #peers: ReadonlySet<string> = new Set();

  constructor(deps: LiveHostsDeps) {
    this.#deps = deps;
  }

  get id(): string {
    return this.#deps.ownId();
  }

  isLive(id: string): boolean {
    return id === this.id ? !this.#deps.isOverdue() : this.#peers.has(id);
  }

  whenGone(id: string): Precondition {
    return { key: hostKey(id), version: 'absent' };
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Takes the IDs of the other live hosts. */
  note(ids: readonly string[]): void {
    const known = this.#peers;
    this.#peers = new Set(ids);
    if (known.size !== ids.length || ids.some((id) => !known.has(id))) this.changed();
  }

  /** Tells the listeners. */
  changed(): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        this.#deps.logger.error({ error }, 'a listener to changes of hosts threw');
      }
    }
  }
}
