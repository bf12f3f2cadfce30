import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { gathered, type UsedInstants } from '../../kernel/used-instants.ts';
import { isConflictError } from '../../state/errors.ts';
import type { Precondition, StateStore } from '../../state/store.ts';
import { sleep } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { Dispatcher } from '../dispatcher.ts';
import type { RateWindow } from '../rate-window.ts';
import type { GroupLease } from './group-lease.ts';
import type { QueueLayout } from './layout.ts';
import { readRecord, record } from './records.ts';
import { type Settlements, STORE_RETRY_MS } from './settlements.ts';
import type { StoredMessage } from './stored-message.ts';

/**
 * Of a rate over a longer time, a tenth is granted at once, so that a crash costs no more than that; of others all of it,
 * so that the record need not be written again.
 */
const LONG_MS = 60_000;

/** What a host has handed out, as it is stored. */
interface StoredRate {
  /** How many in the time up to which instant, by the wall clock. */
  readonly used: UsedInstants;
  /** How many more its writer may have handed out; over a short time, so many at any time. */
  readonly granted: number;
}

const RATE = {
  what: 'what was handed out',
  is: (content: unknown): content is StoredRate => Array.isArray((content as Partial<StoredRate> | null)?.used),
};

/** The dependencies of a {@link GroupRate}. */
export interface GroupRateDeps {
  readonly store: StateStore;
  readonly commits: CommitBatcher;
  readonly layout: QueueLayout;
  readonly lease: GroupLease;
  readonly logger: Logger;
  readonly settlements: Settlements;
  readonly dispatcher: Dispatcher<StoredMessage>;
  /** Notes work that a test waits for; call the returned function at its end. */
  readonly track: (what: string) => () => void;
}

/**
 * Keeps the rate of a group while hosts hand it on. Before a host hands out the first message, it reads what the last
 * one has handed out, and writes how many it will hand out at most before it writes again; when it gives the group
 * away, it writes what it has. One that is dead has not: all that it was granted counts as handed out just now.
 */
export class GroupRate {
  readonly #deps: GroupRateDeps;
  /** How many messages may be handed out; `undefined` while the record is not this host's. */
  #left: number | undefined;
  /** For which consumers' rate that holds. */
  #window: RateWindow | undefined;
  /** That the record has not changed since. */
  #asWritten: Precondition | undefined;
  #taking: Promise<void> | undefined;

  constructor(deps: GroupRateDeps) {
    this.#deps = deps;
  }

  /** Whether the record lets this host hand out a message. If not, it is written, and the dispatcher is woken. */
  grants(): boolean {
    const { rate } = this.#deps.dispatcher;
    if (rate === undefined) return true;
    const isOfRate = rate === this.#window;
    if (isOfRate && this.#left !== undefined && this.#left > 0) return true;
    this.#taking ??= this.#take(rate).finally(() => {
      this.#taking = undefined;
      this.#deps.dispatcher.wake();
    });
    return false;
  }

  /** A message is handed out. */
  onHandOut(): void {
    if (this.#left !== undefined) this.#left--;
  }

  async #take(window: RateWindow): Promise<void> {
    const failure = await this.#tryTake(window);
    if (failure === undefined) return;
    this.#left = undefined;
    const { lease, logger, settlements } = this.#deps;
    // Otherwise another host has the group now, or has had it.
    if (!(lease.isFenced(failure) || isConflictError(failure)))
      logger.error({ error: failure }, 'the rate of a group could not be stored: will be tried again');
    await sleep(settlements.clock, STORE_RETRY_MS);
  }

  /** Returns the error if it has failed. */
  async #tryTake(window: RateWindow): Promise<unknown> {
    const done = this.#deps.track('storing the rate of a group');
    try {
      if (this.#left === undefined) await this.#read(window);
      const { max, perMs } = window.rate;
      const isLong = perMs > LONG_MS;
      const granted = isLong ? Math.ceil(max / 10) : max;
      await this.#write(window, granted);
      this.#window = window;
      this.#left = isLong ? granted : Number.POSITIVE_INFINITY;
      return undefined;
    } catch (error) {
      return error;
    } finally {
      done();
    }
  }

  /** Takes over what was handed out before. */
  async #read(window: RateWindow): Promise<void> {
    const { store, layout, settlements } = this.#deps;
    const entry = await store.get(layout.rate);
    this.#asWritten = { key: layout.rate, version: entry?.version ?? 'absent' };
    if (entry === undefined) return;
    const { used, granted } = readRecord(layout.rate, entry.value, RATE);
    const now = settlements.clock.now();
    const ages = used.flatMap(([at, count]) => Array.from({ length: count }, () => Math.max(0, now - at)));
    window.restore([...ages, ...Array.from({ length: granted }, () => 0)]);
  }

  async #write(window: RateWindow, granted: number): Promise<void> {
    const { commits, layout, lease, settlements } = this.#deps;
    const now = settlements.clock.now();
    const content: StoredRate = { used: gathered(window.ages.map((age) => now - age)), granted };
    const version = await commits.commit({
      require: this.#asWritten === undefined ? [] : [this.#asWritten],
      put: [{ key: layout.rate, value: record(content) }],
      fence: lease.fence(undefined, []),
    });
    this.#asWritten = { key: layout.rate, version };
  }

  /** This host hands out nothing more for now: another one goes on with what is left. */
  close(): void {
    if (this.#left === undefined || this.#window === undefined) return;
    this.#left = undefined;
    // If it fails, all that was granted counts as used.
    this.#write(this.#window, 0).catch(() => undefined);
  }
}
