import type { Membership } from '../../../cluster/membership.ts';
import { isSidecarError, type SidecarError } from '../../../errors.ts';
import { OwnedShards } from '../../../kernel/owned-shards.ts';
import { isConflictError } from '../../../state/errors.ts';
import { retryOnConflict } from '../../../state/retry-on-conflict.ts';
import type { StoredJob } from '../../../timed/job.ts';
import { askedJob } from '../../../timed/planning/control.ts';
import type { PlannedJob } from '../../../timed/planning/if-exists.ts';
import { checkData, dataMissing } from '../../../timed/running/damaged-data.ts';
import { JobStore, type Scheduled } from '../../../timed/running/job-store.ts';
import type { RunRules } from '../../../timed/running/run-rules.ts';
import { Scheduler } from '../../../timed/running/scheduler.ts';
import { nextRunOf } from '../../../timed/running/stored-jobs.ts';
import type { BlockService } from '../../block-service.ts';
import { type ActorAddress, actorPart } from '../model/address.ts';
import type { ActorTurns, PreparedEnd } from '../model/tick.ts';
import type { TurnPart } from '../model/turn-changes.ts';
import { type ReminderOperation, reminderExists, reminderFailed, reminderRuns } from './errors.ts';
import type { ReminderFields } from './fields.ts';
import { malformedTick } from './parse-tick.ts';
import { Periods } from './period.ts';
import { planTick, type RefuseTick } from './plan-tick.ts';
import { reminderLayout, shardKeyOf, type TickName, textOf, tickNameOf } from './reminder-name.ts';
import { ReminderTicks } from './reminder-ticks.ts';

/** The dependencies of {@link ReminderService}. */
export interface ReminderDeps extends Omit<RunRules, 'endsAtExpiry' | 'keepFailedMs'> {
  readonly appId: string;
  readonly newId: () => string;
  readonly gracePeriodMs: number;
  readonly turns: ActorTurns;
}

/** A reminder that was found. */
export interface FoundReminder {
  readonly name: TickName;
  readonly job: StoredJob;
  readonly nextRunAt: number;
}

/** A page of reminders; `next` is where the next page begins. */
export interface FoundReminders {
  readonly reminders: readonly FoundReminder[];
  readonly next?: string | undefined;
}

/** A reminder that a turn sets or deletes. `keeps`: one of the name that is there stays. */
export type ReminderChange =
  | { readonly type: 'set'; readonly name: string; readonly planned: PlannedJob; readonly keeps: boolean }
  | { readonly type: 'delete'; readonly name: string };

/** The success of a reminder's tick, which its turn records. */
export interface ReminderEnd {
  readonly name: string;
  readonly prepare: () => Promise<PreparedEnd | undefined>;
}

/** What a turn has changed of the reminders of its actor. */
export interface ReminderChanges {
  readonly changes: readonly ReminderChange[];
  readonly end: ReminderEnd | undefined;
}

/** Tries of the commit of a turn while others change the reminders that it changes. */
const MAX_TRIES = 100;

interface Opened {
  readonly owned: OwnedShards;
  readonly store: JobStore;
  readonly scheduler: Scheduler;
}

/** Stores reminders, and runs their ticks as turns of their actors. */
export class ReminderService implements BlockService {
  readonly periods: Periods = new Periods();
  readonly #deps: ReminderDeps;
  #opened: Opened | undefined;

  constructor(deps: ReminderDeps) {
    this.#deps = deps;
  }

  open({ store: state, shards }: Membership): Promise<void> {
    const { appId, newId, logger, turns } = this.#deps;
    const owned = new OwnedShards(shards, 'when-shared', shardKeyOf);
    const layout = reminderLayout(appId);
    const store = new JobStore({ store: state, layout, newId, owned, logger, fencesChanges: true });
    const ticks = new ReminderTicks(this.#deps);
    const rules = { ...this.#deps, endsAtExpiry: true, keepFailedMs: 0 };
    const scheduler = new Scheduler({
      ...rules,
      schedules: this.periods,
      store,
      targets: ticks,
      listener: ticks,
      owned,
    });
    turns.onRunnable(() => scheduler.targetsChanged());
    this.#opened = { owned, store, scheduler };
    return Promise.resolve();
  }

  start(isAtRest: boolean): void {
    this.#opened?.scheduler.start(isAtRest);
  }

  /** Begins no tick any more, and waits for those in flight. */
  async stop(): Promise<void> {
    await this.#opened?.scheduler.stop(this.#deps.gracePeriodMs);
  }

  /**
   * Stores a reminder.
   *
   * @throws SidecarError `ERR_MALFORMED_REQUEST`, `ERR_ACTOR_REMINDER_ALREADY_EXISTS` or `ERR_ACTOR_REMINDER_CREATE`.
   */
  async set(name: TickName, fields: ReminderFields): Promise<void> {
    const planned = this.plan(name, fields);
    await this.#change('create', name, async ({ store, scheduler }) => {
      const scheduled = await store.schedule(planned, ({ job }) =>
        fields.overwrite || this.#hasEnded(job) ? planned : undefined,
      );
      if (scheduled === undefined) throw reminderExists(name);
      this.#notify(scheduler, scheduled);
    });
  }

  /** The reminder of a name and its data as JSON text; `undefined` if there is none, or it has ended. */
  find(name: TickName): Promise<(FoundReminder & { readonly data: string | undefined }) | undefined> {
    return this.#call('get', name, async ({ store: { stored } }) => {
      for (let before: number | undefined; ; ) {
        const due = (await stored.find(textOf(name)))?.due;
        if (due === undefined || this.#hasEnded(due.job)) return undefined;
        const { job } = due;
        const data = await stored.dataOf(job);
        if (data !== undefined) checkData(name.name, data);
        if (data !== undefined || job.dataId === undefined) return { name, job, nextRunAt: nextRunOf(due), data };
        // Replaced between the two reads, unless it is the same again.
        if (due.version === before) throw dataMissing(name.name);
        before = due.version;
      }
    });
  }

  /** A page of the reminders of an actor or of all actors, without their data. `start`: from `next` of a page before. */
  list(address: ActorAddress | undefined, start: string | undefined, limit: number): Promise<FoundReminders> {
    return this.#call('get', undefined, async ({ store }) => {
      const prefix = address === undefined ? '' : `${actorPart(address)}/`;
      const { jobs, next } = await store.stored.list(prefix, start, limit);
      const reminders = jobs
        .filter(({ job }) => !this.#hasEnded(job))
        .map((due) => ({ name: tickNameOf(due.job.name), job: due.job, nextRunAt: nextRunOf(due) }));
      return { reminders, next };
    });
  }

  /** Deletes a reminder; answers whether there was one. A tick in flight ends, and none begins any more. */
  delete(name: TickName): Promise<boolean> {
    return this.#change('delete', name, async ({ store, scheduler }) => {
      const removed = await store.remove(textOf(name));
      if (removed !== undefined) scheduler.remove({ key: removed.key, name: textOf(name) });
      return removed !== undefined && !(removed.job !== undefined && this.#hasEnded(removed.job));
    });
  }

  /** Has a reminder run now, beside its schedule; answers whether there is one. */
  run(name: TickName): Promise<boolean> {
    const text = textOf(name);
    return this.#change('create', name, async ({ store, scheduler }) => {
      const scheduled = await store.change(text, (present) => {
        const now = this.#now;
        if (this.#hasEnded(present.job)) return undefined;
        if (scheduler.isRunning(text) || present.at <= now) throw reminderRuns(name);
        // It must not begin while its entry is being replaced.
        scheduler.remove({ key: present.key, name: text });
        return askedJob(present, now);
      });
      if (scheduled !== undefined) this.#notify(scheduler, scheduled);
      return scheduled !== undefined;
    });
  }

  /** Decides when a reminder of a turn is due, and when it ends. @throws SidecarError `ERR_MALFORMED_REQUEST` */
  plan(name: TickName, fields: Omit<ReminderFields, 'overwrite'>): PlannedJob {
    const refuse: RefuseTick = (problem, field, cause) =>
      malformedTick('reminder', problem, { argument: `options.${field}`, cause });
    return planTick(textOf(name), fields, { periods: this.periods, now: this.#now, refuse });
  }

  /**
   * Has a turn commit the reminders that it has changed with what else it has changed; once more while others change the
   * same reminders. The tick that has begun the turn is recorded with it: it is not run again. `commit` adds the fence
   * of the actor's shard.
   */
  async commitTurn<T>(
    address: ActorAddress,
    changes: ReminderChanges,
    commit: (part: TurnPart) => Promise<T>,
  ): Promise<T> {
    const { scheduler, owned } = this.#open;
    try {
      return await retryOnConflict(
        MAX_TRIES,
        async () => commit(await this.#prepared(address, changes)),
        (error) => {
          if (owned.isFenced(error)) throw error;
        },
      );
    } catch (error) {
      // It may have been committed.
      if (!isConflictError(error)) scheduler.readAnew();
      throw error;
    }
  }

  async #prepared(address: ActorAddress, { changes, end }: ReminderChanges): Promise<TurnPart> {
    // A reminder that its own turn replaces or deletes has no end beside that.
    const isChanged = changes.some(({ name }) => name === end?.name);
    const parts = await Promise.all([
      ...changes.map((change) => this.#prepare({ ...address, ...change })),
      isChanged ? undefined : end?.prepare(),
    ]);
    const batches = parts.filter((part) => part !== undefined);
    return {
      require: batches.flatMap(({ require = [] }) => require),
      put: batches.flatMap(({ put = [] }) => put),
      delete: batches.flatMap((batch) => batch.delete ?? []),
      committed: (version) => {
        for (const { written } of batches) written(version);
      },
    };
  }

  /** A change of a turn; what follows from its commit is done when that is told. */
  async #prepare(change: ActorAddress & ReminderChange): Promise<PreparedEnd | undefined> {
    const { store, scheduler } = this.#open;
    const text = textOf(change);
    if (change.type === 'delete') {
      const removal = await store.prepareRemoval(text);
      return (
        removal && {
          ...removal,
          written: (version) => scheduler.remove({ key: removal.written(version).key, name: text }),
        }
      );
    }
    const set = await store.prepare(change.planned, ({ job }) => !change.keeps || this.#hasEnded(job));
    return set && { ...set, written: (version) => this.#notify(scheduler, set.written(version)) };
  }

  #notify(scheduler: Scheduler, { due, replaced }: Scheduled): void {
    if (replaced !== undefined) scheduler.remove({ key: replaced, name: due.job.name });
    scheduler.add(due);
  }

  get #open(): Opened {
    if (this.#opened === undefined) throw new Error('actors are not started');
    return this.#opened;
  }

  /** Whether no call of it begins any more. */
  #hasEnded({ expiresAt }: StoredJob): boolean {
    return expiresAt !== undefined && this.#now > expiresAt;
  }

  get #now(): number {
    return Math.floor(this.#deps.clock.now());
  }

  async #call<T>(
    operation: ReminderOperation,
    name: TickName | undefined,
    work: (opened: Opened) => Promise<T>,
  ): Promise<T> {
    const opened = this.#opened;
    if (opened === undefined) throw reminderFailed(operation, new Error('actors are not started'), name);
    try {
      return await work(opened);
    } catch (error) {
      throw this.#asSidecarError(operation, name, error, opened.scheduler);
    }
  }

  #change<T>(operation: ReminderOperation, name: TickName, work: (opened: Opened) => Promise<T>): Promise<T> {
    return this.#call(operation, name, (opened) => opened.scheduler.changing(textOf(name), () => work(opened)));
  }

  #asSidecarError(
    operation: ReminderOperation,
    name: TickName | undefined,
    error: unknown,
    scheduler: Scheduler,
  ): SidecarError {
    if (isSidecarError(error)) return error;
    // The write may have been committed.
    if (operation !== 'get' && !isConflictError(error)) scheduler.readAnew();
    return reminderFailed(operation, error, name);
  }
}
