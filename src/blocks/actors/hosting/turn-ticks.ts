import { inCode } from '../../in-code.ts';
import type { ActorAddress } from '../model/address.ts';
import { checkTickName } from '../model/names.ts';
import {
  type ActorReminderOptions,
  type ActorReminders,
  type ActorTimerOptions,
  type ActorTimers,
  reminderFieldsOf,
  timerFieldsOf,
} from '../reminders/in-code.ts';
import { malformedTick } from '../reminders/parse-tick.ts';
import { type ActorReminder, reminderInfo, reminderWithData } from '../reminders/reminder-info.ts';
import type { ReminderChange, ReminderService } from '../reminders/reminder-service.ts';
import type { PlannedTimer, TimerService } from '../reminders/timer-service.ts';

/** The dependencies of {@link TurnTicks}. */
export interface TurnTicksDeps {
  readonly address: ActorAddress;
  readonly reminders: ReminderService;
  readonly timers: TimerService;
  /** Whether the actor has a turn. */
  readonly isInTurn: () => boolean;
}

/** What a turn has changed, by name: of several changes of one name, the last one counts. */
export interface TickChanges {
  readonly reminders: ReadonlyMap<string, ReminderChange>;
  /** `undefined`: the timer is deleted. */
  readonly timers: ReadonlyMap<string, PlannedTimer | undefined>;
}

interface OwnChanges extends TickChanges {
  readonly reminders: Map<string, ReminderChange>;
  readonly timers: Map<string, PlannedTimer | undefined>;
}

export const NO_CHANGES: TickChanges = { reminders: new Map(), timers: new Map() };

/** All of them are in one commit. */
const MAX_CHANGES = 10_000;

/** The reminders and timers that a turn of an actor in code sets and deletes, until the turn is committed. */
export class TurnTicks {
  readonly reminders: ActorReminders;
  readonly timers: ActorTimers;
  readonly #deps: TurnTicksDeps;
  #changes: TickChanges = NO_CHANGES;
  /** The changes while only this object has them. Most turns change none, and make no maps. */
  #own: OwnChanges | undefined;

  constructor(deps: TurnTicksDeps) {
    this.#deps = deps;
    this.reminders = {
      set: (name, options = {}) => this.#setReminder(name, options),
      delete: (name) => this.#deleteReminder(name),
      get: (name) => this.#getReminder(name),
    };
    this.timers = {
      set: (name, options = {}) => this.#setTimer(name, options),
      delete: (name) => this.#deleteTimer(name),
    };
  }

  /** What has been changed and is not committed. */
  get changes(): TickChanges {
    this.#own = undefined;
    return this.#changes;
  }

  /** Makes the changes those of an earlier time. */
  reset(changes: TickChanges): void {
    this.#own = undefined;
    this.#changes = changes;
  }

  /** The changes, to add to them. */
  #toChange(): OwnChanges {
    if (this.#own !== undefined) return this.#own;
    const { reminders, timers } = this.#changes;
    this.#own = { reminders: new Map(reminders), timers: new Map(timers) };
    this.#changes = this.#own;
    return this.#own;
  }

  #setReminder(name: string, options: ActorReminderOptions): void {
    this.#change('reminders.set', () => {
      const { address, reminders } = this.#deps;
      const planned = reminders.plan({ ...address, name }, reminderFieldsOf(name, options));
      const present = this.#changes.reminders.get(name);
      // One that this turn has set is there already.
      if (options.ifExists === 'keep' && present?.type === 'set') return;
      const keeps = options.ifExists === 'keep' && present === undefined;
      this.#noteReminder({ type: 'set', name, planned, keeps });
    });
  }

  #deleteReminder(name: string): void {
    this.#change('reminders.delete', () => {
      checkTickName('reminder', name);
      this.#noteReminder({ type: 'delete', name });
    });
  }

  async #getReminder(name: string): Promise<ActorReminder | undefined> {
    const { address, reminders } = this.#deps;
    const changed = this.#changes.reminders.get(name);
    if (changed?.type === 'delete') return undefined;
    try {
      checkTickName('reminder', name);
      if (changed !== undefined && !changed.keeps) return plannedReminder(changed);
      const found = await reminders.find({ ...address, name });
      if (found === undefined) return changed && plannedReminder(changed);
      return reminderWithData(reminderInfo(found.job, found.nextRunAt), found.data);
    } catch (error) {
      throw inCode(error);
    }
  }

  #setTimer(name: string, options: ActorTimerOptions): void {
    this.#change('timers.set', () => {
      const { address, timers } = this.#deps;
      const planned = timers.plan({ ...address, name }, timerFieldsOf(name, options));
      this.#toChange().timers.set(name, planned);
    });
  }

  #deleteTimer(name: string): void {
    this.#change('timers.delete', () => {
      checkTickName('timer', name);
      this.#toChange().timers.set(name, undefined);
    });
  }

  #change(what: string, change: () => void): void {
    if (!this.#deps.isInTurn())
      throw new Error(`${what} was called outside of a turn of the actor: call it in a method`);
    try {
      change();
    } catch (error) {
      throw inCode(error);
    }
  }

  #noteReminder(change: ReminderChange): void {
    const { reminders } = this.#toChange();
    if (reminders.size >= MAX_CHANGES && !reminders.has(change.name))
      throw malformedTick('reminder', `the turn has changed ${MAX_CHANGES} already: expected no more`);
    reminders.set(change.name, change);
  }
}

function plannedReminder({ planned: { job, at } }: ReminderChange & { readonly type: 'set' }): ActorReminder {
  return reminderWithData(reminderInfo(job, at), job.data);
}
