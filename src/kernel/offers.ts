import type { Clock, Timer } from '../util/clock.ts';
import type { Work } from '../util/work.ts';
import { type StandIn, StandIns, type StandInsDeps } from './stand-ins.ts';

/** The dependencies of {@link Offers}. */
export interface OffersDeps<Need> extends Omit<StandInsDeps<Need>, 'onChange'> {
  readonly clock: Clock;
  readonly work: Pick<Work, 'begin'>;
  /** What the items are, for what a stop waits for. */
  readonly what: string;
  /** Offers an item, if it still lacks something. */
  readonly offer: (id: string) => Promise<void>;
  /** Whether to read what others may have offered without this host hearing of it. */
  readonly mayMiss: () => boolean;
  /** Whether this host has what an item lacks. */
  readonly fits: (id: string, standIn: StandIn<Need>) => boolean | Promise<boolean>;
  /**
   * Whether this host takes one more, beside `taking` that it is about to take. Default: always. What it leaves, it
   * looks at again with {@link Offers.roomChanged}.
   */
  readonly hasRoom?: (taking: number) => boolean;
  /** Another host may do the work now, or this one again. */
  readonly onMoved: (id: string) => void;
  readonly onFailure: (error: unknown) => void;
}

/** How long a host waits for code that it lacks before it offers what needs it. */
const OFFERED_AFTER_MS = 1_000;
/** How many items are looked at together. */
const TOGETHER = 64;

/**
 * Moves items of work to hosts that have the code for them: offers those of this host that lack it, takes those of
 * others whose code is here, and offers again what a host had that is gone. The first one waits a second, since its code
 * may be about to be registered.
 */
export class Offers<Need> {
  readonly standIns: StandIns<Need>;
  readonly #deps: OffersDeps<Need>;
  readonly #watches: Disposable[] = [];
  /** Items that lack something, and are to be offered. */
  readonly #lacking = new Set<string>();
  /** Since when something is lacking; since then, no code has come. */
  #lackingSince: number | undefined;
  readonly #toLookAt = new Set<string>();
  /** Offered items that this host cannot do, with the versions of their offers. */
  readonly #unfit = new Map<string, number>();
  /** Offered items for which this host had no room. */
  readonly #left = new Set<string>();
  #taking = 0;
  #timer: Timer | undefined;
  #isLooking = false;
  #isStopped = false;

  constructor(deps: OffersDeps<Need>) {
    this.#deps = deps;
    this.standIns = new StandIns({ ...deps, onChange: (id) => this.#changed(id) });
  }

  /** Follows what other hosts offer. */
  start(watch: (prefix: string, onChange: (keys: readonly string[]) => void) => void): void {
    const { range, hosts, mayMiss } = this.#deps;
    watch(range.from, (keys) => {
      if (keys.length > 0 || mayMiss() || this.standIns.hasAny)
        void this.#inWork('reading', () => this.standIns.changed(keys));
    });
    if (hosts !== undefined) this.#watches.push(hosts.onChange(() => this.hostsChanged()));
  }

  /** Reads which host does what, before this host goes on with the work of shards that it has got. */
  async read(): Promise<void> {
    if (!this.#deps.owned.isShared) return;
    await this.standIns.changed();
    this.hostsChanged();
  }

  /** An item of this host lacks something. */
  lacks(id: string): void {
    this.#lacking.add(id);
    this.#lackingSince ??= this.#deps.clock.now();
    this.#setTimer();
  }

  /** An item has what it needs, or has ended. */
  found(id: string): void {
    this.#lacking.delete(id);
  }

  #setTimer(): void {
    const { owned, clock } = this.#deps;
    if (this.#timer !== undefined || this.#lacking.size === 0 || !owned.hasPeers || this.#isStopped) return;
    const waitedMs = clock.now() - (this.#lackingSince ?? clock.now());
    this.#timer = clock.setTimeout(
      () => {
        this.#timer = undefined;
        if (owned.hasPeers) void this.#inWork('offering', () => this.#offerAll());
      },
      Math.max(0, OFFERED_AFTER_MS - waitedMs),
    );
  }

  async #offerAll(): Promise<void> {
    const ids = [...this.#lacking];
    this.#lacking.clear();
    await Promise.all(ids.map((id) => this.#offer(id)));
  }

  async #offer(id: string): Promise<void> {
    try {
      await this.#deps.offer(id);
    } catch (error) {
      // It is offered after the next read.
      this.#lacking.add(id);
      throw error;
    }
  }

  /** Hosts have come or gone, or this host owns other shards. */
  hostsChanged(): void {
    this.#setTimer();
    this.#lookAtAll();
  }

  /** Code has come, or may have. */
  codeChanged(): void {
    this.#unfit.clear();
    this.#lackingSince = undefined;
    this.#lookAtAll();
  }

  /** This host can do more: looks at what it has left. */
  roomChanged(): void {
    for (const id of this.#left) {
      if (this.#toLookAt.size >= TOGETHER) break;
      this.#left.delete(id);
      this.#toLookAt.add(id);
    }
    this.#lookAtThem();
  }

  /** This host has got an item, with its offer. */
  lookAt(id: string): void {
    this.#toLookAt.add(id);
    this.#lookAtThem();
  }

  #lookAtAll(): void {
    for (const [id] of this.standIns.all()) this.#toLookAt.add(id);
    this.#lookAtThem();
  }

  /** An item was offered, taken or given back. */
  #changed(id: string): void {
    if (this.standIns.of(id) === undefined) this.#unfit.delete(id);
    this.#deps.onMoved(id);
    this.lookAt(id);
  }

  #lookAtThem(): void {
    if (this.#isLooking || this.#isStopped || this.#toLookAt.size === 0) return;
    this.#isLooking = true;
    void this.#inWork('looking at offers', async () => {
      while (this.#toLookAt.size > 0 && !this.#isStopped) {
        const ids = [...this.#toLookAt].slice(0, TOGETHER);
        for (const id of ids) this.#toLookAt.delete(id);
        await Promise.all(ids.map((id) => this.#lookAt(id)));
      }
    }).finally(() => {
      this.#isLooking = false;
    });
  }

  async #lookAt(id: string): Promise<void> {
    const { standIns } = this;
    const standIn = standIns.of(id);
    if (standIn === undefined || standIn.isDone || standIns.isHere(id)) return;
    if (standIn.hostId === undefined) {
      if (await this.#fits(id, standIn)) await this.#take(id);
      return;
    }
    // It may have been this host, which was considered dead.
    this.#deps.onMoved(id);
    await standIns.renew(id);
  }

  async #take(id: string): Promise<void> {
    if (this.#deps.hasRoom?.(this.#taking) === false) return void this.#left.add(id);
    this.#taking++;
    try {
      await this.standIns.take(id);
    } finally {
      this.#taking--;
    }
  }

  async #fits(id: string, standIn: StandIn<Need>): Promise<boolean> {
    if (this.#unfit.get(id) === standIn.version) return false;
    const isFit = await this.#deps.fits(id, standIn);
    if (!isFit) this.#unfit.set(id, standIn.version);
    return isFit;
  }

  async #inWork(doing: string, task: () => Promise<void>): Promise<void> {
    const { work, what, onFailure } = this.#deps;
    const done = work.begin(`${doing}: ${what} that lack code`);
    try {
      await task();
    } catch (error) {
      onFailure(error);
    } finally {
      done();
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    for (const watch of this.#watches.splice(0)) watch[Symbol.dispose]();
  }
}
