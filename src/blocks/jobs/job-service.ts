import type { Membership } from '../../cluster/membership.ts';
import { workplaceOf } from '../../cluster/workplace-of.ts';
import { isApiError, type SidecarError } from '../../errors.ts';
import { OwnedShards } from '../../kernel/owned-shards.ts';
import { isConflictError } from '../../state/errors.ts';
import type { JobFields, StoredJob } from '../../timed/job.ts';
import { askedJob, pausedJob, resumedJob } from '../../timed/planning/control.ts';
import { type PlannedJob, replacementOf } from '../../timed/planning/if-exists.ts';
import { type PlanRules, planJob } from '../../timed/planning/plan.ts';
import { Schedules } from '../../timed/planning/schedule-cache.ts';
import { firstInstantOf, isExpired, isKeptFailure } from '../../timed/planning/transition.ts';
import { upcomingRuns } from '../../timed/planning/upcoming.ts';
import { localZoneName } from '../../timed/planning/zone.ts';
import { checkData, dataMissing } from '../../timed/running/damaged-data.ts';
import { JobOffers } from '../../timed/running/job-offers.ts';
import { JobStore, type Scheduled } from '../../timed/running/job-store.ts';
import { LimitedJobs } from '../../timed/running/limited-jobs.ts';
import { Scheduler } from '../../timed/running/scheduler.ts';
import { type Due, nextRunOf } from '../../timed/running/stored-jobs.ts';
import type { BlockService } from '../block-service.ts';
import { jobLayout } from './job-layout.ts';
import type { RecurringJobOptions } from './model/define-job.ts';
import { JobErrors, type Operation } from './model/errors.ts';
import { checkJobName } from './model/job-name.ts';
import { JobParser } from './parse-job.ts';
import { DeclaredJobs, type WriteDeclared } from './running/declared-jobs.ts';
import { JobDelivery } from './running/delivery.ts';
import { type HandledJob, JobHandlers } from './running/handlers.ts';
import { JobEvents } from './running/job-events.ts';
import type { JobsDeps } from './running/jobs-deps.ts';
import type { UnhandledJob } from './running/unhandled.ts';

/** A job that was found; its data is text. */
export interface FoundJob {
  readonly job: StoredJob;
  readonly nextRunAt: number;
  /** JSON text. */
  readonly data: string | undefined;
}

/** A page of jobs that were found; `next` is the name at which the next page begins. */
export interface FoundPage {
  readonly jobs: readonly Omit<FoundJob, 'data'>[];
  readonly next?: string;
}

interface Opened {
  readonly store: JobStore;
  readonly scheduler: Scheduler;
}

const ALWAYS = (): boolean => true;

/** Stores jobs and runs them. Routes and the public class parse its arguments. */
export class JobService implements BlockService {
  readonly errors: JobErrors;
  readonly parser: JobParser;
  readonly #deps: JobsDeps;
  readonly #rules: PlanRules;
  readonly #handlers = new JobHandlers();
  readonly #delivery: JobDelivery;
  readonly #events: JobEvents;
  /** Declared before the store was open, until they are stored. */
  readonly #declared = new DeclaredJobs();
  #opening: Opened | undefined;
  #opened: Opened | undefined;
  #appWatch: Disposable | undefined;
  #areDeclaredStored = false;
  #isAtRest = false;

  constructor(deps: JobsDeps) {
    const { appId, namespace, wire } = deps;
    const { jobs: rules, reasonPrefix } = wire;
    this.#deps = deps;
    this.errors = new JobErrors({ reasonPrefix, appId, namespace });
    this.parser = new JobParser(rules, this.errors);
    this.#rules = {
      schedules: new Schedules(() => (rules.defaultZone === 'local' ? localZoneName() : rules.defaultZone)),
      times: rules,
      errors: this.errors,
    };
    this.#delivery = new JobDelivery(deps, this.#handlers);
    this.#events = new JobEvents(deps);
  }

  /** The fields of a job that the code defines. Throws when it cannot be planned: not the start shall refuse it. */
  checkedJob(name: string, options: RecurringJobOptions<unknown, unknown>): JobFields {
    checkJobName(name, 'SCHEDULE_JOB', this.errors);
    const fields = this.parser.parseRecurring(options);
    planJob(name, fields, this.#now, this.#rules);
    return fields;
  }

  /** Schedules a job now, or before any job runs if the store is not open yet. */
  async declare(name: string, fields: JobFields): Promise<void> {
    if (this.#opened !== undefined) return void (await this.schedule(name, fields));
    if (this.#opening === undefined) return this.#declared.add(name, fields);
    const scheduled = await this.#write(this.#opening.store, name, fields);
    // The scheduler may have started meanwhile.
    if (scheduled !== undefined) this.#notifyScheduler(scheduled);
  }

  /** Schedules a job; answers whether anything was written. */
  schedule(name: string, fields: JobFields): Promise<boolean> {
    return this.#callToChange('SCHEDULE_JOB', name, async ({ store }) => {
      const scheduled = await this.#write(store, name, fields);
      if (scheduled === undefined && fields.ifExists === 'fail') throw this.errors.exists(name);
      if (scheduled === undefined) return false;
      this.#declared.forget(name);
      this.#notifyScheduler(scheduled);
      return true;
    });
  }

  /** The job of a name with its data as text; `undefined` if it does not exist. */
  find(name: string): Promise<FoundJob | undefined> {
    return this.#call('GET_JOB', name, async ({ store: { stored } }) => {
      for (let before: number | undefined; ; ) {
        const due = (await stored.find(name))?.due;
        if (due === undefined || isExpired(due.job, this.#now)) return undefined;
        const data = await stored.dataOf(due.job);
        if (data !== undefined) checkData(name, data);
        if (data !== undefined || due.job.dataId === undefined)
          return { job: due.job, nextRunAt: nextRunOf(due), data };
        // Replaced between the two reads, unless it is the same again.
        if (due.version === before) throw dataMissing(name);
        before = due.version;
      }
    });
  }

  /** The next instants at which a job runs, if nothing fails: at most so many. */
  upcoming({ job, nextRunAt }: FoundJob, limit: number): readonly number[] {
    const schedule = job.schedule === undefined ? undefined : this.#rules.schedules.getStored(job.schedule);
    return upcomingRuns(job, limit, { nextRunAt, now: this.#now, schedule, everyTick: this.#deps.everyTick });
  }

  /** A page of the jobs whose names begin with a prefix, in the order of their names. */
  list(prefix: string, start: string | undefined, limit: number): Promise<FoundPage> {
    return this.#call('LIST_JOBS', undefined, async ({ store }) => {
      const { jobs, next } = await store.stored.list(prefix, start, limit);
      const found = jobs
        .filter(({ job }) => !isExpired(job, this.#now))
        .map((due) => ({ job: due.job, nextRunAt: nextRunOf(due) }));
      return next === undefined ? { jobs: found } : { jobs: found, next };
    });
  }

  /** Has a job run now; answers whether there is one. */
  run(name: string): Promise<boolean> {
    return this.#change('RUN_JOB', name, (present, { scheduler }) => {
      const now = this.#now;
      if (scheduler.isRunning(name) || present.at <= now) throw this.errors.running(name);
      // It must not begin while its entry is being replaced.
      scheduler.remove({ key: present.key, name });
      return askedJob(present, now);
    });
  }

  /** Pauses a job; answers whether it was not paused before. */
  pause(name: string): Promise<boolean> {
    return this.#change('PAUSE_JOB', name, pausedJob);
  }

  /** Resumes a job; answers whether it was paused. */
  resume(name: string): Promise<boolean> {
    return this.#change('RESUME_JOB', name, resumedJob);
  }

  /** Replaces a job's entry by another one; answers whether it did. */
  #change(
    operation: Operation,
    name: string,
    change: (present: Due, opened: Opened) => PlannedJob | undefined,
  ): Promise<boolean> {
    return this.#callToChange(operation, name, async (opened) => {
      const scheduled = await opened.store.change(name, (present) =>
        isExpired(present.job, this.#now) ? undefined : change(present, opened),
      );
      if (scheduled !== undefined) this.#notifyScheduler(scheduled);
      return scheduled !== undefined;
    });
  }

  /** Removes a job; answers whether there was one. A run that is under way is not broken off. */
  delete(name: string): Promise<boolean> {
    return this.#callToChange('DELETE_JOB', name, async ({ store, scheduler }) => {
      const removed = await store.remove(name);
      this.#declared.forget(name);
      if (removed === undefined) return false;
      const { key, job } = removed;
      scheduler.remove({ key, name });
      const gone = job !== undefined && isExpired(job, this.#now);
      if (!gone) this.#events.onGone(name, 'deleted');
      return !gone;
    });
  }

  /** Runs the jobs of a name or pattern by a function, until the answer is called. */
  handle(pattern: string, handled: HandledJob): () => void {
    this.#handlers.add(pattern, handled);
    this.#opened?.scheduler.targetsChanged();
    // A second call must not remove the function that took its place.
    let remove = (): void => this.#handlers.remove(pattern);
    return () => {
      remove();
      remove = () => undefined;
    };
  }

  #notifyScheduler({ due, replaced }: Scheduled): void {
    if (replaced !== undefined) this.#opened?.scheduler.remove({ key: replaced, name: due.job.name });
    this.#opened?.scheduler.add(due);
  }

  /** Answers `undefined` if an existing job was left as it is. */
  async #write(store: JobStore, name: string, fields: JobFields, isWanted = ALWAYS): Promise<Scheduled | undefined> {
    const now = this.#now;
    const planned: PlannedJob = this.#plan(name, fields, now);
    const scheduled = await store.schedule(planned, (present) => {
      if (!isWanted()) return undefined;
      const isOver = isExpired(present.job, now) || isKeptFailure(present.job);
      return isOver ? planned : replacementOf(planned, present, fields.ifExists);
    });
    if (scheduled !== undefined) this.#events.onScheduled(scheduled.due.job);
    return scheduled;
  }

  #plan(name: string, fields: JobFields, now: number): PlannedJob {
    const planned = planJob(name, fields, now, this.#rules);
    const trace = this.#deps.probe?.current();
    const job = trace === undefined ? planned : { ...planned, trace };
    return { job, at: firstInstantOf(job) };
  }

  /** The schedulers that it is connected to, for metadata: the one in this process, while it runs. */
  get schedulerAddresses(): readonly string[] {
    return this.#opened === undefined ? [] : ['in-process'];
  }

  /** Jobs that were due without anything to run them, for metadata. */
  unhandled(): readonly UnhandledJob[] {
    return this.#delivery.unhandled.list();
  }

  /** Writes the declared jobs; while the store does not work, they are written as soon as it does. */
  async open({ store: state, shards, patience }: Membership): Promise<void> {
    const { appId, newId, logger, app } = this.#deps;
    const owned = new OwnedShards(shards);
    const layout = jobLayout(appId);
    const offers = new JobOffers({
      ...{ ...this.#deps, store: state, layout, owned, hosts: shards.hosts, targets: this.#delivery },
      lackOf: (name) => this.#delivery.lackOf(name),
      fits: (lack) => this.#delivery.fits(lack),
      exists: async (name) => (await store.stored.find(name)) !== undefined,
      write: (change) => store.write(change),
      onMoved: (name) => void scheduler.moved(name),
      onFailure: (error) => scheduler.failed(error),
    });
    const store = new JobStore({ store: state, layout, newId, owned, standIns: offers.standIns, logger });
    this.#delivery.workplace = workplaceOf({ state, shards }, 'jobs', appId);
    const limited = new LimitedJobs({
      ...{ ...this.#deps, store: state, shards, owned, targets: this.#delivery, prefix: layout.limitPrefix },
      go: (due) => scheduler.add(due),
      readAnew: () => scheduler.readAnew(),
    });
    const { schedules } = this.#rules;
    const [targets, listener] = [this.#delivery, this.#events];
    const scheduler = new Scheduler({ ...this.#deps, schedules, store, targets, listener, owned, offers, limited });
    this.#delivery.routeless.mayOffer = () => owned.hasPeers;
    this.#delivery.routeless.onLeft = () => scheduler.targetsChanged();
    this.#appWatch = app?.monitor.onChange(() => {
      if (!app.monitor.isPresent) return;
      this.#delivery.routeless.clear();
      scheduler.targetsChanged();
    });
    this.#opening = { store, scheduler };
    const write: WriteDeclared = (name, fields, isWanted) => this.#write(store, name, fields, isWanted);
    await patience.begin('jobs defined in code', () =>
      this.#declared.write(write, (error) => {
        // One that can never be stored must not keep the others from running.
        this.#areDeclaredStored ||= !patience.isOutage(error);
        this.#run();
      }),
    );
  }

  /** Begins to run jobs; those for the application wait until that is present. At rest, none runs. */
  start(isAtRest: boolean): void {
    this.#isAtRest = isAtRest;
    this.#opened = this.#opening;
    this.#run();
  }

  /** Runs jobs once the sidecar runs and the declared ones are stored, so that no outdated definition runs. */
  #run(): void {
    if (this.#areDeclaredStored) this.#opened?.scheduler.start(this.#isAtRest);
  }

  /** Begins no new runs, and waits for those in progress. */
  async stop(): Promise<void> {
    this.#appWatch?.[Symbol.dispose]();
    await this.#opened?.scheduler.stop(this.#deps.gracePeriodMs);
  }

  get #now(): number {
    return Math.floor(this.#deps.clock.now());
  }

  async #call<T>(operation: Operation, name: string | undefined, work: (opened: Opened) => Promise<T>): Promise<T> {
    this.#deps.admit();
    if (operation !== 'LIST_JOBS') checkJobName(name, operation, this.errors);
    const opened = this.#opened;
    if (opened === undefined) throw this.errors.failed(operation, new Error('jobs are not started'));
    try {
      return await work(opened);
    } catch (error) {
      throw this.#asSidecarError(operation, error, opened.scheduler);
    }
  }

  #callToChange<T>(operation: Operation, name: string, work: (opened: Opened) => Promise<T>): Promise<T> {
    return this.#call(operation, name, (opened) => opened.scheduler.changing(name, () => work(opened)));
  }

  #asSidecarError(operation: Operation, error: unknown, scheduler: Scheduler): SidecarError {
    if (isApiError(error)) return error;
    // The write may have been committed.
    if (operation !== 'GET_JOB' && operation !== 'LIST_JOBS' && !isConflictError(error)) scheduler.readAnew();
    return this.errors.failed(operation, error);
  }
}
