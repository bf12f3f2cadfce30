import type { Shards } from '../../cluster/shards.ts';
import { workplaceOf } from '../../cluster/workplace-of.ts';
import { isSidecarError, type SidecarError } from '../../errors.ts';
import { OwnedShards } from '../../kernel/owned-shards.ts';
import { isConflict } from '../../state/errors.ts';
import type { StateStore } from '../../state/store.ts';
import { checkFunction } from '../../util/known-fields.ts';
import type { JobErrors, Operation } from './model/errors.ts';
import type {
  Job,
  JobDefinition,
  JobFields,
  JobHandler,
  JobHandlerOptions,
  JobOptions,
  StoredJob,
} from './model/job.ts';
import { checkJobName } from './model/job-name.ts';
import { replacementOf } from './planning/if-exists.ts';
import { parseJobDefinition, parseJobOptions, timeLimitOf } from './planning/parse-job.ts';
import { type PlanRules, planJob } from './planning/plan.ts';
import { Schedules } from './planning/schedule-cache.ts';
import { firstInstantOf } from './planning/transition.ts';
import { localZoneName } from './planning/zone.ts';
import { Delivery } from './running/delivery.ts';
import { emitGone, emitScheduled } from './running/emit-events.ts';
import { Handlers } from './running/handlers.ts';
import { JobStore, type PlannedJob, type Scheduled } from './running/job-store.ts';
import type { JobsHost } from './running/jobs-host.ts';
import { JobLayout } from './running/layout.ts';
import { Scheduler } from './running/scheduler.ts';
import type { UnhandledJob } from './running/unhandled.ts';

/** What the block is made of. */
export interface JobsParts {
  readonly appId: string;
  readonly host: JobsHost;
  readonly errors: JobErrors;
  /** Throws when no calls are taken. */
  readonly admit: () => void;
}

/** A job that was found, as text where it was text. */
export interface FoundJob {
  readonly job: StoredJob;
  readonly nextRunAt: number;
  /** JSON text. */
  readonly data: string | undefined;
}

interface Opened {
  readonly store: JobStore;
  readonly scheduler: Scheduler;
}

/**
 * Jobs that run at a time or on a schedule, kept in the state store: with a durable one they survive the process.
 *
 * A run goes to the function that {@link Jobs.handle} has for the job, else to the application as
 * `POST /job/<name>`. Runs come at least once: after a crash one may be repeated, none is left out.
 *
 * @example
 * ```ts
 * const report = { schedule: 'TZ=Europe/Rome 0 0 6 * * mon-fri', data: { to: 'board' } };
 * await sidecar.jobs.define('report', report, async ({ data }) => sendReport(data.to));
 * ```
 * @public
 */
export class Jobs {
  readonly #parts: JobsParts;
  readonly #rules: PlanRules;
  readonly #handlers = new Handlers();
  readonly #delivery: Delivery;
  /** Declared before the store was open. */
  readonly #defined = new Map<string, JobFields>();
  #opening: Opened | undefined;
  #opened: Opened | undefined;

  /** @internal */
  constructor(parts: JobsParts) {
    const { host, errors } = parts;
    const { jobs: wireRules } = host.wire;
    this.#parts = parts;
    this.#rules = {
      schedules: new Schedules(() => (wireRules.schedulesInUtc ? 'UTC' : localZoneName())),
      wire: wireRules,
      errors,
    };
    this.#delivery = new Delivery(host, this.#handlers);
  }

  /**
   * Declares a job and the function that runs it: it is there as long as the code says so. At the start, or at once
   * after it, the job is created when it is missing, left alone with its next instant when the same was set, else
   * changed, as {@link IfJobExists} says of `update`. A job whose definition is taken out of the code stays until
   * {@link Jobs.delete}.
   *
   * Before the start this resolves at once; after it, when the job is kept.
   *
   * @param name - of one job: no `*`
   * @throws SidecarError of status 400 for what cannot be understood, `ERR_CONFIGURATION` when the name has a handler
   * already, 500 when the store fails.
   */
  async define<T = unknown>(name: string, definition: JobDefinition<T>, handler: JobHandler<T>): Promise<void> {
    const { host, errors } = this.#parts;
    checkJobName(name, 'SCHEDULE_JOB', errors);
    const fields = parseJobDefinition(name, definition, { wire: host.wire, errors });
    // Refused here, and not by the start.
    planJob(name, fields, this.#now, this.#rules);
    const { timeoutMs } = definition;
    const handled = this.handle(name, handler, timeoutMs === undefined ? {} : { timeoutMs });
    try {
      await this.#declare(name, fields);
    } catch (error) {
      handled[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Schedules a job. When this resolves the job is kept, on disk if the state store is durable. Answers whether it was
   * written: `false` when `ifExists` left the job that is there as it is.
   *
   * @throws SidecarError of status 400 for what cannot be understood, 409 (`…_SCHEDULER_SCHEDULE_JOB`) for a name
   * that is taken when `ifExists` is `fail`, 500 when the store fails.
   */
  async schedule<T = unknown>(name: string, options: JobOptions<T>): Promise<boolean> {
    return this.scheduleFields(name, parseJobOptions(options, this.#parts.host.wire, this.#parts.errors));
  }

  /** The job of a name; `undefined` when there is none, also when it has finished or expired. */
  async get<T = unknown>(name: string): Promise<Job<T> | undefined> {
    const found = await this.find(name);
    if (found === undefined) return undefined;
    const { data, nextRunAt } = found;
    const { schedule, dueTime, repeats, ttl, policy } = found.job;
    return {
      name,
      ...(schedule === undefined ? undefined : { schedule }),
      ...(dueTime === undefined ? undefined : { dueTime }),
      ...(repeats === undefined ? undefined : { repeats }),
      ...(ttl === undefined ? undefined : { ttl }),
      ...(data === undefined ? undefined : { data: JSON.parse(data) as T }),
      ...(policy === undefined ? undefined : { failurePolicy: policy }),
      nextRunAt,
    };
  }

  /** Removes a job; answers whether there was one. A run that is under way is not broken off. */
  async delete(name: string): Promise<boolean> {
    return this.#call('DELETE_JOB', name, async ({ store, scheduler }) => {
      const removed = await store.remove(name);
      if (removed === undefined) return false;
      scheduler.remove(removed);
      const gone = isExpired(removed.job, this.#now);
      if (!gone) emitGone(this.#parts.host.events, name, 'deleted');
      return !gone;
    });
  }

  /**
   * Runs jobs in code: those of a name, or of a pattern in which `*` stands for any characters (`report-*`). A name
   * goes before a pattern, the pattern that names more characters before another. Register before the start, or jobs
   * that are due by then go to the application, or wait when there is none. Dispose of the result to stop it.
   *
   * A run lasts until the function has returned, however long that takes: the job's next run waits for it. One that
   * has no time-out and takes more than five minutes is warned of in the log, once.
   *
   * @throws SidecarError `ERR_CONFIGURATION` when the name or pattern has a handler already, for unknown options, and
   * for a handler that is no function.
   */
  handle<T = unknown>(pattern: string, handler: JobHandler<T>, options: JobHandlerOptions = {}): Disposable {
    checkFunction(handler, `the handler of jobs ${JSON.stringify(pattern)}`);
    const timeLimitMs = timeLimitOf(pattern, options);
    // What data a job has is for those to know who scheduled it.
    this.#handlers.add(pattern, { handler: handler as JobHandler, timeLimitMs });
    this.#opened?.scheduler.targetsChanged();
    return { [Symbol.dispose]: () => this.#handlers.remove(pattern) };
  }

  /** Schedules what has been read from a request; answers whether anything was written. @internal */
  async scheduleFields(name: string, fields: JobFields): Promise<boolean> {
    return this.#call('SCHEDULE_JOB', name, async ({ store }) => {
      const scheduled = await this.#write(store, name, fields);
      if (scheduled !== undefined) this.#tellScheduler(scheduled);
      else if (fields.ifExists === 'fail') throw this.#parts.errors.exists(name);
      return scheduled !== undefined;
    });
  }

  async #declare(name: string, fields: JobFields): Promise<void> {
    if (this.#opened !== undefined) return void (await this.scheduleFields(name, fields));
    if (this.#opening === undefined) return void this.#defined.set(name, fields);
    const scheduled = await this.#write(this.#opening.store, name, fields);
    // It may have started meanwhile.
    if (scheduled !== undefined) this.#tellScheduler(scheduled);
  }

  #tellScheduler({ due, replaced }: Scheduled): void {
    if (replaced !== undefined) this.#opened?.scheduler.remove({ key: replaced, job: due.job });
    this.#opened?.scheduler.add(due);
  }

  /** Answers `undefined` when a job of the name was left as it is. */
  async #write(store: JobStore, name: string, fields: JobFields): Promise<Scheduled | undefined> {
    const now = this.#now;
    const job = planJob(name, fields, now, this.#rules);
    const planned: PlannedJob = { job, at: firstInstantOf(job) };
    const scheduled = await store.schedule(planned, (present) =>
      isExpired(present.job, now) ? planned : replacementOf(planned, present, fields.ifExists),
    );
    if (scheduled !== undefined) emitScheduled(this.#parts.host.events, scheduled.due.job);
    return scheduled;
  }

  /** The job of a name with its data as text. @internal */
  async find(name: string): Promise<FoundJob | undefined> {
    return this.#call('GET_JOB', name, async ({ store }) => {
      for (;;) {
        const due = await store.find(name);
        if (due === undefined || isExpired(due.job, this.#now)) return undefined;
        const data = await store.dataOf(due.job);
        // Replaced between the two reads.
        if (data === undefined && due.job.dataId !== undefined) continue;
        return { job: due.job, nextRunAt: due.at, data };
      }
    });
  }

  /** The errors of its routes. @internal */
  get errors(): JobErrors {
    return this.#parts.errors;
  }

  /** The schedulers that it is connected to, for metadata: the one in this process, while it runs. @internal */
  get schedulerAddresses(): readonly string[] {
    return this.#opened === undefined ? [] : ['in-process'];
  }

  /** Jobs that were due while nobody was there to run them, for metadata. @internal */
  unhandled(): readonly UnhandledJob[] {
    return this.#opened?.scheduler.unhandled.list() ?? [];
  }

  /** Writes the jobs that were declared: before any runs, so that none runs as an earlier release had it. @internal */
  async open({ store: state, shards }: { readonly store: StateStore; readonly shards: Shards }): Promise<void> {
    const { appId, host } = this.#parts;
    const owned = new OwnedShards(shards);
    const store = new JobStore(state, new JobLayout(appId), host.newId, owned);
    const { schedules } = this.#rules;
    this.#delivery.workplace = workplaceOf({ state, shards }, 'jobs', appId);
    const scheduler = new Scheduler({ store, schedules, delivery: this.#delivery, host, owned });
    this.#opening = { store, scheduler };
    await Promise.all([...this.#defined].map(([name, fields]) => this.#write(store, name, fields)));
  }

  /** Begins to run jobs; those for the application wait for {@link Jobs.appReady}. @internal */
  start(): void {
    this.#opened = this.#opening;
    this.#opened?.scheduler.start();
  }

  /** The application takes requests. @internal */
  appReady(): void {
    this.#delivery.isAppReady = true;
    this.#opened?.scheduler.targetsChanged();
  }

  /** The application takes no requests now: its jobs wait. @internal */
  appAway(): void {
    this.#delivery.isAppReady = false;
  }

  /** Begins no run any more and waits for those under way. @internal */
  async stop(): Promise<void> {
    await this.#opened?.scheduler.stop(this.#parts.host.patienceMs);
  }

  get #now(): number {
    return Math.floor(this.#parts.host.clock.now());
  }

  async #call<T>(operation: Operation, name: string, work: (opened: Opened) => Promise<T>): Promise<T> {
    const { admit, errors } = this.#parts;
    admit();
    checkJobName(name, operation, errors);
    const opened = this.#opened;
    if (opened === undefined) throw errors.failed(operation, new Error('jobs are not started'));
    try {
      return await work(opened);
    } catch (error) {
      throw this.#asSidecarError(operation, error, opened.scheduler);
    }
  }

  #asSidecarError(operation: Operation, error: unknown, scheduler: Scheduler): SidecarError {
    if (isSidecarError(error)) return error;
    // It may have been written, though.
    if (operation !== 'GET_JOB' && !isConflict(error)) scheduler.readAnew();
    return this.#parts.errors.failed(operation, error);
  }
}

/** Whether a job has had its last run and its time is over. */
function isExpired({ ended, expiresAt }: StoredJob, now: number): boolean {
  return ended && expiresAt !== undefined && now > expiresAt;
}
