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

export const NO_CHANGES: TickChanges = { reminders: new Map(), timers: new Map() };

/** All of them are in one commit. */
const MAX_CHANGES = 10_000;

/** The reminders and timers that a turn of an actor in code sets and deletes, until the turn is committed. */
export class TurnTicks {
  readonly reminders: ActorReminders;
  readonly timers: ActorTimers;
  readonly #deps: TurnTicksDeps;
  #reminders = new Map<string, ReminderChange>();
  #timers = new Map<string, PlannedTimer | undefined>();

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
    return { reminders: new Map(this.#reminders), timers: new Map(this.#timers) };
  }

  /** Makes the changes those of an earlier time. */
  reset({ reminders, timers }: TickChanges): void {
    this.#reminders = new Map(reminders);
    this.#timers = new Map(timers);
  }

  #setReminder(name: string, options: ActorReminderOptions): void {
    this.#change('reminders.set', () => {
      const { address, reminders } = this.#deps;
      const planned = reminders.plan({ ...address, name }, reminderFieldsOf(name, options));
      const present = this.#reminders.get(name);
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
    const changed = this.#reminders.get(name);
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
      this.#timers.set(name, planned);
    });
  }

  #deleteTimer(name: string): void {
    this.#change('timers.delete', () => {
      checkTickName('timer', name);
      this.#timers.set(name, undefined);
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
    if (this.#reminders.size >= MAX_CHANGES && !this.#reminders.has(change.name))
      throw malformedTick('reminder', `the turn has changed ${MAX_CHANGES} already: expected no more`);
    this.#reminders.set(change.name, change);
  }
}

function plannedReminder({ planned: { job, at } }: ReminderChange & { readonly type: 'set' }): ActorReminder {
  return reminderWithData(reminderInfo(job, at), job.data);
}
