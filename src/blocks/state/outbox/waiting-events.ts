/** An event that has failed as often may itself be at fault: later ones are tried, too. */
const MAX_FAILURES = 5;
/** So many are tried in a row that fail; in an outage, each may take long. */
const MAX_TRIES = 10;

/** An event of an outbox, as far as its order is concerned. */
export interface OrderedEvent {
  readonly id: string;
  /** The key whose value it tells of. */
  readonly key: string;
}

/** An event that was refused while others may go through. */
interface SetAside {
  /** Whether it may be tried now. */
  isDue: boolean;
}

/**
 * Decides which of the waiting events is published next, in walks over all of them in their order.
 *
 * - While the first one fails, nothing overtakes it: the pub/sub may be down.
 * - If it has failed five times, it is set aside, and later ones are tried: ten in a row at most, so that in an outage
 *   little is tried in vain. The next walk goes on behind those, after the first one.
 * - Once one goes through, those set aside are tried again from the first one on: the pub/sub may be back only now. What
 *   fails again is at fault. It is set aside until {@link WaitingEvents.retry}, and holds up the events of its key alone.
 */
export class WaitingEvents {
  /** By their IDs. */
  readonly #aside = new Map<string, SetAside>();
  /** Those of {@link #aside} that the present walk has met. */
  readonly #met = new Set<string>();
  /** The keys of events that wait in front of the present one. */
  readonly #blocked = new Set<string>();
  /** The event that all others wait for, and how often it has failed. */
  #first: { readonly id: string; failures: number } | undefined;
  /** Whether nothing has gone through since an event was set aside. */
  #isOutage = false;
  #isAtFirst = true;
  #triesLeft = MAX_TRIES;

  /** Whether events have been set aside. */
  get isAny(): boolean {
    return this.#aside.size > 0;
  }

  /** Whether an event has been set aside. */
  isAside(id: string): boolean {
    return this.#aside.has(id);
  }

  /** Whether the walk may go on where the last one has ended: what it has left waits for {@link WaitingEvents.retry}. */
  get canGoOn(): boolean {
    return this.isAny && !this.#isOutage;
  }

  /** Begins a walk at the first event. */
  begin(): void {
    this.#met.clear();
    this.#blocked.clear();
    this.#isAtFirst = true;
    this.#triesLeft = MAX_TRIES;
  }

  /** Goes on behind the last event of the walk before. */
  goOn(): void {
    this.#triesLeft = MAX_TRIES;
  }

  /** Whether the next event of the walk is to be published. */
  mayTry({ id, key }: OrderedEvent): boolean {
    const isFirst = this.#isAtFirst;
    this.#isAtFirst = false;
    const aside = this.#aside.get(id);
    if (aside !== undefined) this.#met.add(id);
    if (this.#blocked.has(key)) return false;
    if (aside === undefined || (isFirst && this.#isOutage) || (aside.isDue && this.#triesLeft > 0)) return true;
    this.#blocked.add(key);
    return false;
  }

  /** An event was published. Returns whether to begin the walk again. */
  succeeded({ id }: OrderedEvent): boolean {
    this.#aside.delete(id);
    if (this.#first?.id === id) this.#first = undefined;
    this.#triesLeft = MAX_TRIES;
    if (!this.#isOutage) return false;
    this.#isOutage = false;
    this.#makeDue();
    return this.isAny;
  }

  /** An event was not published. Returns whether to go on with the walk. */
  failed({ id, key }: OrderedEvent): boolean {
    if (!this.#isOutage && !this.#aside.has(id)) {
      if (this.#first?.id !== id) this.#first = { id, failures: 0 };
      if (++this.#first.failures < MAX_FAILURES) return false;
      this.#first = undefined;
      this.#isOutage = true;
    }
    this.#aside.set(id, { isDue: false });
    this.#met.add(id);
    this.#blocked.add(key);
    this.#triesLeft--;
    return !this.#isOutage || this.#triesLeft > 0;
  }

  /** A walk has come to the end, from the first event on. Returns whether events wait because nothing goes through. */
  end(): boolean {
    // Others have published them.
    for (const id of this.#aside.keys()) if (!this.#met.has(id)) this.#aside.delete(id);
    if (!this.isAny) this.#isOutage = false;
    if (this.#isOutage) this.#makeDue();
    return this.#isOutage;
  }

  /** Those set aside may be tried again, once all of them were. */
  retry(): void {
    if ([...this.#aside.values()].every(({ isDue }) => !isDue)) this.#makeDue();
  }

  #makeDue(): void {
    for (const one of this.#aside.values()) one.isDue = true;
  }
}
