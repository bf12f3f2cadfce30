import { CONSUMER_PREFIX, RETURNED, type StreamConsumer, type StreamGroup } from './stream-group.ts';

/** Our consumers call every second: one that has not called for so long is dead. */
const DEAD_MS = 5_000;
/** After a pause of the server or of this process, the others get this time to call. */
const GRACE_MS = 3_000;
/** Looks take place every second: after a longer time, something stood still. */
const MAX_GAP_MS = 3_000;
/** Looks in a row at which more is pending for this consumer than is here. */
const MAX_EXCESSES = 2;

/** A consumer whose entries may be taken over. */
export interface Source {
  readonly consumer: string;
  /** Entries that were delivered or taken over within this time stay where they are. */
  readonly minIdleMs: number;
}

/** The consumers whose entries may be taken over. */
export interface NeighbourFindings {
  readonly sources: readonly Source[];
  /** Whether entries are pending for this consumer that are not here. */
  readonly isIncomplete: boolean;
}

/** The dependencies of {@link Neighbours}. */
export interface NeighboursDeps {
  readonly stream: StreamGroup;
  readonly processingTimeoutMs: number;
  readonly redeliverIntervalMs: number;
  readonly restartedAt: () => number;
}

/** Looks at the consumers of a group: which of them are gone, with what they have not acknowledged. */
export class Neighbours {
  readonly #deps: NeighboursDeps;
  #readAt: number | undefined;
  #trustedFrom = Number.NEGATIVE_INFINITY;
  #foreignersReadAt = Number.NEGATIVE_INFINITY;
  #excesses = 0;

  constructor(deps: NeighboursDeps) {
    this.#deps = deps;
  }

  /** @param held - the number of entries that are here */
  async find(held: number): Promise<NeighbourFindings> {
    const { stream } = this.#deps;
    const [consumers] = await Promise.all([stream.consumers(), stream.touch()]);
    const now = performance.now();
    if (this.#readAt !== undefined && now - this.#readAt > MAX_GAP_MS) this.#trustedFrom = now + GRACE_MS;
    this.#readAt = now;
    const isTrusted = now >= Math.max(this.#trustedFrom, this.#deps.restartedAt() + GRACE_MS);
    const others = consumers.filter(({ name }) => name !== stream.consumer);
    const dead = isTrusted ? others.filter(isDead) : [];
    for (const { name, pending } of dead) if (pending === 0) stream.removeConsumer(name).catch(() => undefined);
    const gone = [...others.filter(({ name }) => name === RETURNED), ...dead].map(({ name, pending }) => ({
      pending,
      source: { consumer: name, minIdleMs: DEAD_MS },
    }));
    const sources = [...gone, ...this.#foreigners(others, now)].filter(({ pending }) => pending > 0);
    return { sources: sources.map(({ source }) => source), isIncomplete: this.#isIncomplete(consumers, held) };
  }

  /** Consumers of other programs do not tell whether they live. */
  #foreigners(others: readonly StreamConsumer[], now: number): { readonly pending: number; readonly source: Source }[] {
    const { processingTimeoutMs, redeliverIntervalMs } = this.#deps;
    if (now - this.#foreignersReadAt < redeliverIntervalMs) return [];
    this.#foreignersReadAt = now;
    return others
      .filter(({ name }) => !name.startsWith(CONSUMER_PREFIX))
      .map(({ name, pending }) => ({ pending, source: { consumer: name, minIdleMs: processingTimeoutMs } }));
  }

  /** A read that is under way may explain it once. */
  #isIncomplete(consumers: readonly StreamConsumer[], held: number): boolean {
    const own = consumers.find(({ name }) => name === this.#deps.stream.consumer);
    this.#excesses = (own?.pending ?? 0) > held ? this.#excesses + 1 : 0;
    if (this.#excesses < MAX_EXCESSES) return false;
    this.#excesses = 0;
    return true;
  }
}

function isDead({ name, idleMs }: StreamConsumer): boolean {
  return name.startsWith(CONSUMER_PREFIX) && name !== RETURNED && idleMs > DEAD_MS;
}
