import type { ShardHosts } from '../cluster/shards.ts';
import { keyOf, namePart } from '../state/keys.ts';
import { Deque } from '../util/deque.ts';
import type { SlotLimit } from '../util/run-limits.ts';
import type { OwnedShards } from './owned-shards.ts';
import { type SlotHost, Slots } from './slots.ts';

/** The dependencies of {@link Limits}. */
export interface LimitsDeps<Group, Item> extends SlotHost {
  /** The prefix of the entries. */
  readonly prefix: string;
  /** What has the limits, for the log: `activity`. */
  readonly kind: string;
  readonly owned: Pick<OwnedShards, 'watch'>;
  readonly hosts: ShardHosts;
  /** Runs that waited may begin now: they ask again. */
  readonly go: (items: readonly Item[], limit: Limit<Group, Item>) => void;
}

/** The limits of names, over all hosts. A host without limits reads, writes and watches nothing. */
export class Limits<Group, Item> {
  readonly #deps: LimitsDeps<Group, Item>;
  readonly #byName = new Map<string, Limit<Group, Item>>();
  readonly #byKey = new Map<string, Slots>();
  #watch: Disposable | undefined;
  #isStopping = false;

  constructor(deps: LimitsDeps<Group, Item>) {
    this.#deps = deps;
  }

  /** The limit of a name; `undefined` if it has none. */
  of(name: string, given: readonly SlotLimit[] | undefined): Limit<Group, Item> | undefined {
    if (given === undefined || given.length === 0) return undefined;
    const present = this.#byName.get(name);
    if (present?.given === given) return present;
    const limit: Limit<Group, Item> = present ?? new Limit((items) => this.#deps.go(items, limit));
    limit.set(given, (of) => this.#slots(name, of, limit));
    this.#byName.set(name, limit);
    return limit;
  }

  #slots(name: string, of: SlotLimit, limit: Limit<Group, Item>): Slots {
    const { prefix, kind, owned, hosts } = this.#deps;
    if (this.#watch === undefined) {
      owned.watch(prefix, (keys) => this.#changed(keys));
      this.#watch = hosts.onChange(() => this.#each((slots) => slots.hostsChanged()));
    }
    const isRate = of.perMs !== undefined;
    const key = prefix + keyOf(namePart(name), isRate ? 'rate' : 'runs');
    const slots = new Slots({
      ...this.#deps,
      key,
      what: `${kind} ${JSON.stringify(name)}`,
      limit: of,
      waiting: () => limit.waitingFor(isRate),
      onFree: () => limit.serve(),
    });
    this.#byKey.set(key, slots);
    if (this.#isStopping) slots.stop();
    return slots;
  }

  #changed(keys: readonly string[]): void {
    if (keys.length === 0) return this.#each((slots) => slots.changed());
    for (const key of keys) this.#byKey.get(key)?.changed();
  }

  #each(change: (slots: Slots) => void): void {
    for (const slots of this.#byKey.values()) change(slots);
  }

  /** How many runs wait for a slot. */
  get waiting(): number {
    let count = 0;
    for (const limit of this.#byName.values()) count += limit.waiting;
    return count;
  }

  /** Forgets runs that wait. */
  drop(group: Group): void {
    for (const limit of this.#byName.values()) limit.drop(group);
  }

  /** Begins no more runs. */
  stop(): void {
    this.#isStopping = true;
    this.#each((slots) => slots.stop());
  }

  /** Gives back the slots, after the last run has ended. */
  async close(): Promise<void> {
    this.stop();
    this.#watch?.[Symbol.dispose]();
    await Promise.all([...this.#byKey.values()].map((slots) => slots.close()));
  }
}

/** What a run has of its limit. */
export interface Admission {
  /** Its function has been called: from now on it counts against the rate. A second call is harmless. */
  begun(): void;
  /** It has ended, or is not made after all. */
  ended(): void;
}

/** The limits of one name: its runs begin when each of them has a free slot. */
export class Limit<Group, Item> {
  given: readonly SlotLimit[] = [];
  readonly #go: (items: readonly Item[]) => void;
  #rate: Slots | undefined;
  #runs: Slots | undefined;
  /** Runs that wait. Groups take turns, so that one with many runs holds up no other. */
  readonly #line = new Map<Group, Deque<Item>>();
  #waiting = 0;

  constructor(go: (items: readonly Item[]) => void) {
    this.#go = go;
  }

  set(given: readonly SlotLimit[], make: (limit: SlotLimit) => Slots): void {
    this.given = given;
    const rate = given.find(({ perMs }) => perMs !== undefined);
    const runs = given.find(({ perMs }) => perMs === undefined);
    this.#rate = changed(this.#rate, rate, make);
    this.#runs = changed(this.#runs, runs, make);
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** How many runs wait for a slot of the rate, or for one of those that run: without a slot of the rate, none does. */
  waitingFor(isRate: boolean): number {
    return isRate || this.#rate === undefined ? this.#waiting : Math.min(this.#waiting, this.#rate.free);
  }

  get #free(): number {
    return Math.min(this.#rate?.free ?? Number.POSITIVE_INFINITY, this.#runs?.free ?? Number.POSITIVE_INFINITY);
  }

  /** Lets a run begin; `undefined` if it has to wait in line. */
  admit(group: Group, item: Item): Admission | undefined {
    if (this.#free > 0) return this.#admission();
    const own = this.#line.get(group) ?? new Deque<Item>();
    own.push(item);
    this.#line.set(group, own);
    this.#waiting++;
    this.#ask();
    return undefined;
  }

  #ask(): void {
    this.#rate?.update();
    this.#runs?.update();
  }

  #admission(): Admission {
    let hasBegun = false;
    const slots = [this.#rate, this.#runs];
    for (const one of slots) one?.take();
    return {
      begun: () => {
        if (hasBegun) return;
        hasBegun = true;
        for (const one of slots) one?.begun();
      },
      ended: () => {
        for (const one of slots) one?.ended(hasBegun);
        this.serve();
      },
    };
  }

  /** Lets runs go that may begin. */
  serve(): void {
    const count = Math.min(this.#free, this.#waiting);
    if (count > 0) this.#go(Array.from({ length: count }, () => this.#shift()));
    if (count === 0 && this.#waiting > 0 && this.#rate !== undefined && this.#rate.free > 0) this.#runs?.update();
  }

  #shift(): Item {
    for (const [group, own] of this.#line) {
      this.#line.delete(group);
      const item = own.shift() as Item;
      if (own.length > 0) this.#line.set(group, own);
      this.#waiting--;
      return item;
    }
    throw new Error('no run waits');
  }

  /** Whether runs of a group wait. */
  has(group: Group): boolean {
    return this.#line.has(group);
  }

  /** Forgets what waits of a group. */
  drop(group: Group): void {
    const own = this.#line.get(group);
    if (own === undefined) return;
    this.#waiting -= own.length;
    this.#line.delete(group);
  }
}

/** Slots whose limit the code has changed, or has now. One that it has no more ends. */
function changed(
  slots: Slots | undefined,
  limit: SlotLimit | undefined,
  make: (limit: SlotLimit) => Slots,
): Slots | undefined {
  if (limit === undefined) return void slots?.close();
  if (slots === undefined) return make(limit);
  slots.limit = limit;
  return slots;
}
