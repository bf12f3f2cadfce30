import type { ShardHosts } from '../cluster/shards.ts';
import { Damages } from '../state/damages.ts';
import { isConflictError } from '../state/errors.ts';
import type { Precondition, StateStore } from '../state/store.ts';
import { readValue, withFormat } from '../state/values.ts';
import { Alarm } from '../util/alarm.ts';
import { type Clock, dualNow } from '../util/clock.ts';
import { Deque } from '../util/deque.ts';
import type { Logger } from '../util/logger.ts';
import type { SlotLimit } from '../util/run-limits.ts';
import type { Work } from '../util/work.ts';
import { lowestOf, NO_SLOTS, type OwnSlots, planSlots, type SlotPlan, type SlotRecord } from './slot-plan.ts';
import { gathered } from './used-instants.ts';

/** What {@link Slots} use of a host. */
export interface SlotHost {
  readonly store: Pick<StateStore, 'get' | 'commit'>;
  readonly hosts: Pick<ShardHosts, 'id' | 'isLive' | 'whenGone'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly work: Pick<Work, 'begin'>;
}

/** The dependencies of {@link Slots}. */
export interface SlotsDeps extends SlotHost {
  readonly key: string;
  /** Their runs, for the log. */
  readonly what: string;
  readonly limit: SlotLimit;
  /** How many runs wait for a slot here. */
  readonly waiting: () => number;
  /** Slots may have become free. */
  readonly onFree: () => void;
}

const FORMAT = 1;
/** How long after a failure of the store, or while a host is thought dead that is not, the record is tried again. */
const RETRY_MS = 1_000;
/** How often a host that stops tries to give back its slots while others change the record. */
const CLOSE_TRIES = 10;

/**
 * The slots of a limit over all hosts. An entry of the store says which host has how many: a host uses its own without a
 * word to the others. One that needs more writes so; a host that has free ones then gives them away, in an even division.
 * Each change is a commit that requires the former version of the entry. The slots of a host that is gone are divided
 * again, in a commit that requires it to be gone. So a host alone writes once, and all hosts only while more runs wait on
 * several of them than there are slots.
 *
 * A slot of a rate is taken for a time from the begin of its run. What a host that is gone has had counts as used when
 * that is noticed.
 */
export class Slots {
  readonly #deps: SlotsDeps;
  readonly #alarm: Alarm;
  readonly #damages: Damages;
  #limit: SlotLimit;
  #effective: SlotLimit;
  /** As last read or written; `undefined` before. */
  #record: SlotRecord | undefined;
  #version: Precondition['version'] = 'absent';
  #isOutdated = true;
  /** How many this host may use, and under which ID it has them. */
  #held = 0;
  #heldBy = '';
  /** Runs under way, if this is no rate. */
  #running = 0;
  /** Those of them that began under another ID: other hosts have counted them as ended since. */
  #former = 0;
  /** When runs have begun, by the monotonic clock, if this is a rate. */
  #begun = new Deque<number>();
  /** Runs that have a slot of a rate and have not begun. */
  #pending = 0;
  /** Hosts that seem to be gone, and are not. */
  #notGone = new Set<string>();
  #updating: Promise<void> | undefined;
  #isToRepeat = false;
  /** Whether a slot has just become free, so that it is the turn of another host. */
  #isEnd = false;
  /** Whether this host has all slots, and no other host uses the limit. */
  #hasAll = false;
  #isStopping = false;
  #isClosed = false;
  #isWarned = false;

  constructor(deps: SlotsDeps) {
    this.#deps = deps;
    this.#limit = deps.limit;
    this.#effective = deps.limit;
    this.#alarm = new Alarm(deps.clock, () => this.#onAlarm());
    this.#damages = new Damages(
      deps.logger,
      `how the slots of ${deps.what} are divided cannot be read: as if none were`,
    );
  }

  /** How many runs may begin now. */
  get free(): number {
    const { hosts } = this.#deps;
    if (this.#isStopping || this.#heldBy !== hosts.id || !hosts.isLive(hosts.id)) return 0;
    return Math.max(0, this.#held - this.#busy);
  }

  get #busy(): number {
    const { perMs } = this.#effective;
    if (this.#limit.perMs === undefined) return this.#running;
    const before = this.#monotonic - (perMs ?? 0);
    for (let first = this.#begun.peek(); first !== undefined && first <= before; first = this.#begun.peek())
      this.#begun.shift();
    return this.#begun.length + this.#pending;
  }

  get #monotonic(): number {
    // A clock that is set must not stretch or shorten a time.
    return dualNow(this.#deps.clock).monotonic;
  }

  /** A run gets a slot: call it only if one is free. */
  take(): void {
    if (this.#limit.perMs === undefined) this.#running++;
    else this.#pending++;
  }

  /** It has begun. */
  begun(): void {
    if (this.#limit.perMs === undefined) return;
    this.#pending--;
    this.#begun.push(this.#monotonic);
    this.#setAlarm();
  }

  /** It has ended, or has not been made after all. */
  ended(hasBegun: boolean): void {
    if (this.#limit.perMs !== undefined) {
      if (!hasBegun) this.#pending--;
      return;
    }
    if (this.#former > 0) this.#former--;
    else this.#running--;
    this.#isEnd = true;
    this.update();
  }

  /** The code has another limit now. */
  set limit(limit: SlotLimit) {
    this.#limit = limit;
    this.#apply();
    this.update();
  }

  /** Other hosts may have changed the division. */
  changed(): void {
    if (this.#record === undefined) return;
    this.#isOutdated = true;
    this.update();
  }

  /** Hosts have come or gone, or this one is alive again. */
  hostsChanged(): void {
    this.#notGone.clear();
    if (this.#record === undefined) return;
    this.update();
    this.#deps.onFree();
  }

  /** Changes the division if this host needs slots, or has some that others need. */
  update(): void {
    if (this.#isClosed) return;
    if (this.#updating !== undefined) {
      this.#isToRepeat = true;
      return;
    }
    if (!this.#isOutdated && ((this.#hasAll && this.#heldBy === this.#deps.hosts.id) || this.#plan() === undefined))
      return this.#setAlarm();
    const done = this.#deps.work.begin(`dividing the slots of ${this.#deps.what}`);
    this.#updating = this.#update().finally(() => {
      this.#updating = undefined;
      done();
      this.#deps.onFree();
      this.#setAlarm();
    });
  }

  async #update(): Promise<void> {
    try {
      do {
        this.#isToRepeat = false;
        if (this.#isOutdated) {
          await this.#read();
          // What another host has given to this one is used before it is asked for again.
          this.#deps.onFree();
        }
        const plan = this.#plan();
        if (plan !== undefined) await this.#write(plan);
      } while (this.#isToRepeat && !this.#isClosed);
    } catch (error) {
      this.#isOutdated = true;
      const { logger, what } = this.#deps;
      logger.error({ error }, `the slots of ${what} could not be divided: will be tried again`);
      this.#retryLater();
    }
  }

  #retryLater(): void {
    if (!this.#isClosed) this.#alarm.expect(this.#deps.clock.now() + RETRY_MS);
  }

  #plan(): SlotPlan | undefined {
    const { hosts, clock } = this.#deps;
    const isLive = (id: string): boolean => hosts.isLive(id) || this.#notGone.has(id);
    const own = this.#own;
    // One that needs nothing and has nothing leaves the record to the others.
    if (own.wants === 0 && !(this.#record ?? NO_SLOTS).hosts.some(({ id }) => id === own.id)) return undefined;
    const plan = planSlots(this.#record ?? NO_SLOTS, own, { now: clock.now(), isLive, isEnd: this.#isEnd });
    if (plan === undefined) this.#isEnd = false;
    return plan;
  }

  get #own(): OwnSlots {
    const { hosts, waiting } = this.#deps;
    const busy = this.#busy;
    const wants = busy + (this.#isStopping ? 0 : waiting());
    return { ...this.#limit, id: hosts.id, busy, wants, usedAt: this.#usedAt() };
  }

  /** When the slots of a rate were used, by the wall clock. */
  #usedAt(): readonly number[] {
    if (this.#begun.length === 0) return NONE;
    const { wall, monotonic } = dualNow(this.#deps.clock);
    return this.#begun.values().map((at) => wall - (monotonic - at));
  }

  async #read(): Promise<void> {
    const { store, key } = this.#deps;
    this.#isOutdated = false;
    const entry = await store.get(key);
    this.#version = entry?.version ?? 'absent';
    const record = entry && this.#damages.read({ ...entry, key }, () => decode(key, entry.value));
    this.#record = record ?? NO_SLOTS;
    this.#apply();
  }

  async #write({ hosts, used, held, rested, gone }: SlotPlan): Promise<void> {
    const { store, key, hosts: live } = this.#deps;
    // Those that are given away are not used from now on, whatever becomes of the commit.
    this.#held = Math.min(this.#held, held + rested);
    this.#isEnd = false;
    this.#hasAll = false;
    const record: SlotRecord = { hosts, used };
    try {
      const version = await store.commit({
        require: [{ key, version: this.#version }, ...gone.map((id) => live.whenGone(id))],
        ...(hosts.length > 0 || used.length > 0 ? { put: [{ key, value: encode(record) }] } : { delete: [key] }),
      });
      this.#version = hosts.length > 0 || used.length > 0 ? version : 'absent';
    } catch (error) {
      if (!isConflictError(error)) throw error;
      return this.#refused(error.key, gone);
    }
    for (let count = 0; count < rested; count++) this.#begun.shift();
    this.#record = record;
    this.#apply();
  }

  #refused(key: string, gone: readonly string[]): void {
    const { hosts } = this.#deps;
    this.#isOutdated = true;
    const isAlive = gone.filter((id) => hosts.whenGone(id).key === key);
    for (const id of isAlive) this.#notGone.add(id);
    this.#isToRepeat = true;
  }

  /** Takes over what the record says. */
  #apply(): void {
    const { hosts, logger, what } = this.#deps;
    const { id } = hosts;
    const record = this.#record ?? NO_SLOTS;
    this.#held = record.hosts.find((host) => host.id === id)?.held ?? 0;
    if (this.#heldBy !== id && this.#heldBy !== '') {
      this.#former += this.#running;
      this.#running = 0;
      // They count as used since that host was found to be gone.
      this.#begun = new Deque<number>();
    }
    this.#heldBy = id;
    const others = record.hosts.filter((host) => host.id !== id && hosts.isLive(host.id));
    this.#effective = lowestOf([this.#limit, ...others]);
    const isLower = this.#effective !== this.#limit && !isSame(this.#effective, this.#limit);
    if (isLower && !this.#isWarned)
      logger.warn(
        { limit: this.#limit, holds: this.#effective },
        `another process has a lower limit for ${what}: it holds while that process runs any`,
      );
    this.#isWarned = isLower;
    this.#hasAll = record.hosts.length === 1 && this.#held === this.#limit.max && !isLower;
  }

  /** The next instant at which slots of a rate are free again, or a host that seemed to be gone may be. */
  #setAlarm(): void {
    const isWaiting = this.#deps.waiting() > 0;
    if (this.#isClosed || !(isWaiting || (this.#record?.hosts.length ?? 0) > 1)) return;
    const { clock } = this.#deps;
    if (this.#notGone.size > 0) this.#retryLater();
    const { perMs } = this.#effective;
    if (perMs === undefined) return;
    const now = clock.now();
    const first = this.#busy > this.#pending ? this.#begun.peek() : undefined;
    if (first !== undefined) this.#alarm.expect(now + Math.max(1, Math.ceil(first + perMs - this.#monotonic)));
    if (!isWaiting) return;
    for (const [at] of this.#record?.used ?? []) if (at + perMs > now) this.#alarm.expect(at + perMs);
  }

  #onAlarm(): void {
    this.#notGone.clear();
    this.#isEnd = this.#limit.perMs !== undefined;
    this.update();
    this.#deps.onFree();
    this.#setAlarm();
  }

  /** Begins no more: other hosts may have what is free. */
  stop(): void {
    this.#isStopping = true;
    if (this.#record !== undefined) this.update();
  }

  /** Gives back all slots, once. Of a rate, others go on with what is left. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#alarm.off();
    await this.#updating;
    // If it fails, the others divide them once this host is gone.
    for (let tries = 0; tries < CLOSE_TRIES && this.#record !== undefined; tries++)
      if (await this.#giveBack().catch(() => true)) return;
  }

  /** Answers whether there is nothing more to give back. */
  async #giveBack(): Promise<boolean> {
    if (this.#isOutdated) await this.#read();
    const { hosts, used } = this.#record ?? NO_SLOTS;
    const { id } = this.#deps.hosts;
    if (!hosts.some((host) => host.id === id)) return true;
    const rest = this.#limit.perMs !== undefined && this.#busy > 0 ? gathered(this.#usedAt()) : [];
    const left = hosts.filter((host) => host.id !== id);
    await this.#write({ hosts: left, used: [...used, ...rest], held: 0, rested: 0, gone: [] });
    return !this.#isOutdated;
  }
}

const NONE: readonly number[] = [];

function isSame(one: SlotLimit, other: SlotLimit): boolean {
  return one.max === other.max && one.perMs === other.perMs;
}

function encode(record: SlotRecord): Uint8Array {
  return withFormat(FORMAT, Buffer.from(JSON.stringify(record)));
}

function decode(key: string, value: Uint8Array): SlotRecord {
  const read = (payload: Uint8Array): SlotRecord => JSON.parse(Buffer.from(payload).toString()) as SlotRecord;
  return readValue(key, value, { [FORMAT]: read });
}
