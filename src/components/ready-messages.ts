import { Deque } from '../util/deque.ts';
import { keyOf } from './ordering-key.ts';
import type { Message } from './pubsub.ts';

/** How many messages of one key may be with consumers at the same time; the dispatcher of a group sets it. */
export interface KeyLimit {
  perKey: number;
}

interface Parked<Entry> {
  readonly entry: Entry;
  /** Its place among all that are parked. */
  readonly place: number;
}

/**
 * The messages of a group that are ready to be handed out, in order. With a limit for each key, a message whose key has
 * no room is parked, in the order of its key, and does not hold up those behind it.
 *
 * A message that was taken occupies its key until {@link ReadyMessages.end} or {@link ReadyMessages.unshift}. Without a
 * limit, nothing is counted.
 */
export class ReadyMessages<Entry extends { readonly message: Message }> {
  readonly #limit: Readonly<KeyLimit>;
  readonly #line = new Deque<Entry>();
  readonly #parked = new Map<string, Deque<Parked<Entry>>>();
  #parkedCount = 0;
  #lastPlace = 0;
  #firstPlace = 0;
  /** Keys with parked messages that may have room. */
  readonly #freed = new Set<string>();
  /** How many messages of a key are with consumers. */
  readonly #busy = new Map<string, number>();
  /** The keys of messages that are with consumers. */
  readonly #taken = new Map<Entry, string>();
  #knownLimit = Number.POSITIVE_INFINITY;

  constructor(limit: Readonly<KeyLimit>) {
    this.#limit = limit;
  }

  get length(): number {
    return this.#line.length + this.#parkedCount;
  }

  /** How many messages wait for others of their key. */
  get parked(): number {
    return this.#parkedCount;
  }

  push(entry: Entry): void {
    this.#line.push(entry);
  }

  /** Takes the first message whose key has room. */
  shift(): Entry | undefined {
    const { perKey } = this.#limit;
    if (perKey === Number.POSITIVE_INFINITY && this.#parkedCount === 0) return this.#line.shift();
    if (perKey !== this.#knownLimit) {
      this.#knownLimit = perKey;
      for (const key of this.#parked.keys()) this.#freed.add(key);
    }
    return this.#shiftFreed() ?? this.#shiftLine();
  }

  #shiftFreed(): Entry | undefined {
    for (const key of this.#freed) {
      const parked = this.#parked.get(key);
      const first = parked !== undefined && this.#hasRoom(key) ? parked.shift() : undefined;
      if (parked?.length === 0) this.#parked.delete(key);
      // It goes to the end of the keys that may have room.
      this.#freed.delete(key);
      if (first === undefined) continue;
      if (this.#parked.has(key)) this.#freed.add(key);
      this.#parkedCount--;
      return this.#take(first.entry, key);
    }
    return undefined;
  }

  #shiftLine(): Entry | undefined {
    for (let entry = this.#line.shift(); entry !== undefined; entry = this.#line.shift()) {
      const key = keyOf(entry.message);
      if (key === undefined) return entry;
      if (!this.#parked.has(key) && this.#hasRoom(key)) return this.#take(entry, key);
      this.#parkedOf(key).push({ entry, place: ++this.#lastPlace });
      this.#parkedCount++;
    }
    return undefined;
  }

  #hasRoom(key: string): boolean {
    return (this.#busy.get(key) ?? 0) < this.#limit.perKey;
  }

  #take(entry: Entry, key: string): Entry {
    if (this.#limit.perKey === Number.POSITIVE_INFINITY) return entry;
    this.#taken.set(entry, key);
    this.#busy.set(key, (this.#busy.get(key) ?? 0) + 1);
    return entry;
  }

  #parkedOf(key: string): Deque<Parked<Entry>> {
    const parked = this.#parked.get(key) ?? new Deque();
    this.#parked.set(key, parked);
    return parked;
  }

  /** A message that was taken is done with, or waits elsewhere: its key has room for another one. */
  end(entry: Entry): void {
    const key = this.#taken.size === 0 ? undefined : this.#taken.get(entry);
    if (key === undefined) return;
    this.#taken.delete(entry);
    const left = (this.#busy.get(key) ?? 1) - 1;
    if (left === 0) this.#busy.delete(key);
    else this.#busy.set(key, left);
    if (this.#parked.has(key)) this.#freed.add(key);
  }

  /** Puts a message back before all others. */
  unshift(entry: Entry): void {
    const key = this.#taken.size === 0 ? undefined : this.#taken.get(entry);
    this.end(entry);
    if (key === undefined || !this.#parked.has(key)) return this.#line.unshift(entry);
    // Those of its key that are parked come after it.
    this.#parkedOf(key).unshift({ entry, place: --this.#firstPlace });
    this.#parkedCount++;
  }

  /** The first message, which stays. */
  peek(): Entry | undefined {
    return this.#parkedCount === 0 ? this.#line.peek() : this.values()[0];
  }

  /** The messages in order. */
  values(): readonly Entry[] {
    if (this.#parkedCount === 0) return this.#line.values();
    const parked = [...this.#parked.values()].flatMap((of) => of.values());
    parked.sort((one, other) => one.place - other.place);
    return [...parked.map(({ entry }) => entry), ...this.#line.values()];
  }

  /** Removes the messages for which `isMeant` is true; returns them in order. */
  extract(isMeant: (entry: Entry) => boolean): readonly Entry[] {
    if (this.#parkedCount === 0) return this.#line.extract(isMeant);
    const parked: Parked<Entry>[] = [];
    for (const [key, of] of this.#parked) {
      parked.push(...of.extract(({ entry }) => isMeant(entry)));
      if (of.length === 0) this.#parked.delete(key);
    }
    this.#parkedCount -= parked.length;
    parked.sort((one, other) => one.place - other.place);
    return [...parked.map(({ entry }) => entry), ...this.#line.extract(isMeant)];
  }

  /** Forgets all messages, and those that are with consumers. */
  clear(): void {
    this.#line.extract(() => true);
    this.#parked.clear();
    this.#parkedCount = 0;
    this.#freed.clear();
    this.#busy.clear();
    this.#taken.clear();
  }
}
