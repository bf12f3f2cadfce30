import { keyAfter } from '../../state/keys.ts';
import { isCutOff } from '../../state/page.ts';
import type { KeyedEntry, StateStore } from '../../state/store.ts';
import { Alarm } from '../../util/alarm.ts';
import type { Clock } from '../../util/clock.ts';
import type { QueueLayout } from './layout.ts';
import { READ_AHEAD } from './queue-window.ts';

/** The dependencies of {@link DelayedMessages}. */
export interface DelayedMessagesDeps {
  readonly store: StateStore;
  readonly layout: QueueLayout;
  /** Loads the messages of a range, and returns all its entries; `undefined` if the tenure has ended meanwhile. */
  readonly load: (
    tenure: AbortController,
    scan: Parameters<StateStore['scan']>[0],
  ) => Promise<readonly KeyedEntry[] | undefined>;
  /** Called when some may be due. */
  readonly onDue: () => void;
}

/** The messages of one group that wait for their retry: loads them when they are due. */
export class DelayedMessages {
  readonly #deps: DelayedMessagesDeps;
  /** Whether some due messages may not be loaded. */
  #mayBeDue = true;
  /** The key at which the next search for due messages begins. */
  #from = '';
  #alarm: Alarm | undefined;

  constructor(deps: DelayedMessagesDeps) {
    this.#deps = deps;
  }

  /** Whether some due messages may not be loaded. */
  get mayBeDue(): boolean {
    return this.#mayBeDue;
  }

  /** Cancels the timer, and forgets which messages are loaded. */
  stop(): void {
    this.#alarm?.off();
    this.restart();
  }

  /** Looks for all that are due again. */
  restart(): void {
    this.#from = '';
    this.#mayBeDue = true;
  }

  /** A message waits under a key. */
  expect(key: string, dueAt: number, clock: Clock): void {
    if (key < this.#from) this.#from = key;
    this.#alarm ??= new Alarm(clock, () => this.#onDue());
    this.#alarm.expect(dueAt);
  }

  #onDue(): void {
    this.#mayBeDue = true;
    this.#deps.onDue();
  }

  /** Loads messages that are due, or sets the timer for the next one. */
  async read(tenure: AbortController, clock: Clock): Promise<void> {
    if (tenure.signal.aborted) return;
    this.#mayBeDue = false;
    const from = this.#from;
    try {
      const now = clock.now();
      if (await this.#loadDue(tenure, now)) this.#mayBeDue = true;
      else await this.#expectNext(tenure, clock, now);
    } catch (error) {
      if (!tenure.signal.aborted) {
        this.#mayBeDue = true;
        if (from < this.#from) this.#from = from;
      }
      throw error;
    }
  }

  /** Loads messages that are due; returns whether there may be more. */
  async #loadDue(tenure: AbortController, now: number): Promise<boolean> {
    const { layout, load } = this.#deps;
    const { from: first, to } = layout.dueRange(now);
    const from = this.#from === '' ? first : this.#from;
    // The clock was set back: nothing is due until it reaches this instant again.
    if (from >= to) return false;
    this.#from = to;
    const due = await load(tenure, { from, to, ...READ_AHEAD });
    const last = due?.at(-1);
    if (due === undefined || last === undefined || !isCutOff(due, READ_AHEAD)) return false;
    const next = keyAfter(last.key);
    if (next < this.#from) this.#from = next;
    return true;
  }

  async #expectNext(tenure: AbortController, clock: Clock, now: number): Promise<void> {
    const { store, layout } = this.#deps;
    const [next] = await store.scan({ ...layout.delayedRange, from: layout.dueRange(now).to, limit: 1 });
    if (next !== undefined && !tenure.signal.aborted) this.expect(next.key, layout.dueAtOf(next.key), clock);
  }
}
