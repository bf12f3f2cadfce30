import { DuePump } from '../../kernel/due-pump.ts';
import type { OwnedShards } from '../../kernel/owned-shards.ts';
import { ReadRetry } from '../../kernel/read-retry.ts';
import type { CodeCall } from '../../util/code-calls.ts';
import { Work } from '../../util/work.ts';
import type { StoredJob } from '../job.ts';
import type { Schedule } from '../planning/schedule.ts';
import { afterAttempt, isAtRest, type Next } from '../planning/transition.ts';
import type { Attempted, Begun, EndedAttempt, JobOwners, MakeAttemptDeps } from './attempt.ts';
import { endOf, makeAttempt, noted } from './attempt.ts';
import { CrashCounter } from './crash-counter.ts';
import { DueJobs } from './due-jobs.ts';
import type { JobOffers } from './job-offers.ts';
import type { JobStore } from './job-store.ts';
import { JointEnd } from './joint-end.ts';
import { type LimitedJobs, UNLIMITED } from './limited-jobs.ts';
import { Places } from './places.ts';
import { RunRecorder } from './recorder.ts';
import type { RunRules } from './run-rules.ts';
import { RunningJobs } from './running-jobs.ts';
import type { Due } from './stored-jobs.ts';
import type { RecordedAttempt, RunListener, Targets } from './target.ts';

/** Max ended runs that are being recorded; they do not count against the concurrency. */
const MAX_UNRECORDED = 1_000;

const FINISHED: Next = { kind: 'gone', reason: 'finished' };

/** The dependencies of a {@link Scheduler}. */
export interface SchedulerDeps extends RunRules {
  readonly store: JobStore;
  /** The schedules of stored jobs, by their text. */
  readonly schedules: { getStored(text: string): Schedule };
  readonly targets: Targets;
  readonly listener: RunListener;
  readonly owned: OwnedShards;
  /** Has jobs run by hosts that have a target for them, where the owner has none. Default: they wait. */
  readonly offers?: JobOffers | undefined;
  /** Has jobs wait whose runs are limited over all hosts. Default: none are. */
  readonly limited?: LimitedJobs | undefined;
}

/**
 * Runs due jobs, taken from the due index in order of time. Handling a job lasts from the start of an attempt until
 * its outcome is stored.
 */
export class Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #owners: JobOwners;
  readonly #due: DueJobs;
  readonly #pump: DuePump<Due>;
  readonly #running = new RunningJobs();
  /** Keys of this host's jobs that another sidecar of this process still runs. */
  readonly #elsewhere = new Set<string>();
  readonly #stopRequested = new AbortController();
  readonly #work = new Work();
  readonly #places: Places;
  #isStarted = false;
  readonly #retry: ReadRetry;
  readonly #recorder: RunRecorder;
  readonly #crashes: CrashCounter;
  readonly #attemptDeps: MakeAttemptDeps;
  /** Whether entries were skipped because they had no target. */
  #hasPassedOver = false;

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
    const { store, clock, work, concurrency, offers, owned } = deps;
    const owners: JobOwners = offers?.standIns ?? owned;
    this.#owners = owners;
    this.#places = new Places(concurrency, () => this.#pump.pump());
    this.#due = new DueJobs({
      ...{ stored: store.stored, clock },
      ...(offers === undefined ? undefined : { prepare: () => offers.prepare() }),
      isTaken: (due) => this.#isTaken(due),
    });
    this.#crashes = new CrashCounter(deps);
    const isTooLate = (due: Due): boolean => this.#isTooLate(due, clock.now());
    const jointEnd = (begun: Due, startedAt: number): JointEnd =>
      new JointEnd(begun, {
        store,
        nextOf: (job, isLast) => this.#nextOf(job, { outcome: 'done', isLast, startedAt, now: clock.now() }),
      });
    this.#attemptDeps = {
      ...{ ...deps, owners },
      due: this.#due,
      crashes: this.#crashes,
      running: this.#running,
      isTooLate,
      jointEnd,
    };
    this.#retry = new ReadRetry({ ...deps, what: 'jobs', readAnew: () => this.readAnew() });
    this.#recorder = new RunRecorder({
      ...{ ...deps, owners },
      stopRequested: this.#stopRequested.signal,
      onRecorded: (due, following) => this.#recorded(due, following),
      onLost: (due) => {
        this.#running.drop(due.job.name);
        this.#forgetAll();
      },
      onUncertain: (due) => {
        // A read under way may still show it.
        this.#due.remove(due.key);
        this.readAnew();
      },
      onReadFailure: (error) => this.#retry.failed(error),
    });
    this.#pump = new DuePump({
      clock,
      index: this.#due,
      trackRead: () => work.begin('reading jobs that are due'),
      hasRoom: () => this.#hasRoom,
      begin: (due, now) => this.#begin(due, now),
      onFailure: (error) => this.#retry.failed(error),
    });
  }

  /** Starts running jobs. At rest, none runs, whatever is written. */
  start(isAtRest: boolean): void {
    if (isAtRest || this.#stopped) return this.#pump.stop();
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { owned, store, offers } = this.#deps;
    this.#crashes.start();
    offers?.start();
    owned.onChange((change) => {
      this.#crashes.onChange(change);
      offers?.onChange(change);
      this.#forgetAll();
    });
    owned.watch(store.stored.duePrefix, (keys) => void this.#onHint(keys));
    // Entries read before are those of the shards that this host had then.
    this.readAnew();
  }

  /** A job was written. */
  add(due: Due): void {
    if (!this.#owners.owns(due.job.name)) return;
    this.#due.add(due);
    this.#pump.pump();
  }

  /** A job's entry was removed. */
  remove(removed: { readonly key: string; readonly name: string }): void {
    this.#due.remove(removed.key);
    this.#deps.limited?.remove(removed.key);
    this.#running.forget(removed);
  }

  /** Changes a job while no run of it begins: a job that runs without a pause would be ahead of every try. */
  async changing<T>(name: string, change: () => Promise<T>): Promise<T> {
    this.#running.beginChange(name);
    try {
      return await change();
    } finally {
      const held = this.#running.endChange(name);
      if (held !== undefined) this.add(held);
    }
  }

  /** Whether a job is being handled here. */
  isRunning(name: string): boolean {
    return this.#running.has(name);
  }

  /** A function or the application became available: retries the skipped entries. */
  targetsChanged(): void {
    this.#deps.offers?.targetsChanged();
    if (this.#hasPassedOver) this.readAnew();
  }

  /** Another host may run a job now, or this one again. */
  async moved(name: string): Promise<void> {
    const { store, work, offers } = this.#deps;
    if (this.#stopped || !this.#owners.owns(name)) return;
    const done = work.begin(`reading job ${name}`);
    try {
      const due = (await store.stored.find(name))?.due;
      if (due === undefined) await offers?.missing(name);
      else if (!this.#isTaken(due)) this.#due.add({ ...due, isFound: true });
      this.#pump.pump();
    } catch (error) {
      this.#retry.failed(error);
    } finally {
      done();
    }
  }

  /** The store could not be read or written: reads all entries later. */
  failed(error: unknown): void {
    this.#retry.failed(error);
  }

  /** Rereads all entries: the index may differ from the store. */
  readAnew(): void {
    this.#hasPassedOver = false;
    this.#pump.readAnew();
  }

  /** Shards came or went: entries read before, or being read, may be out of date. */
  #forgetAll(): void {
    this.#deps.limited?.reset();
    this.#due.reset();
    this.readAnew();
  }

  /** Starts nothing new, and waits for the jobs being handled, up to `gracePeriodMs`. */
  async stop(gracePeriodMs: number): Promise<void> {
    this.#stopRequested.abort(new Error('the scheduler is stopping'));
    this.#pump.stop();
    this.#retry.stop();
    this.#deps.offers?.stop();
    this.#deps.limited?.stop();
    void this.#crashes.uncount();
    await this.#deps.targets.stop(this.#work, gracePeriodMs);
    await this.#deps.limited?.close();
    // Last: another host that takes shards over meanwhile waits for the runs of their jobs.
    this.#deps.owned.stop();
  }

  get #stopped(): boolean {
    return this.#stopRequested.signal.aborted;
  }

  /** Whether an entry is being handled, runs in another sidecar of this process, or belongs to another host. */
  #isTaken(due: Due): boolean {
    if (this.#elsewhere.has(due.key) || this.#crashes.isWaiting(due.key)) return true;
    if (this.#deps.limited?.isWaiting(due)) return true;
    if (this.#owners.owns(due.job.name)) return this.#running.hasEntry(due);
    this.#deps.offers?.notice(due);
    return true;
  }

  get #hasRoom(): boolean {
    const { concurrency } = this.#deps;
    const unrecorded = this.#running.size - this.#places.waiting;
    return this.#isStarted && this.#places.hasFree && unrecorded < concurrency + MAX_UNRECORDED;
  }

  #begin(due: Due, now: number): void {
    const { name } = due.job;
    // It is reread once this host owns it.
    if (!this.#owners.owns(name)) return;
    if (this.#running.mustWait(name)) return this.#running.holdBack(due);
    const elsewhere = this.#deps.targets.elsewhere(name);
    if (elsewhere !== undefined) return this.#waitFor(elsewhere, due);
    const isOver = isAtRest(due.job) || this.#isTooLate(due, now);
    const target = isOver ? undefined : this.#deps.targets.targetOf(name);
    if (target === undefined && !isOver) return this.#passOver(due);
    // This host takes it first, as others may.
    if (!isOver && this.#deps.offers?.mayRun(name) === false) return;
    if (target === undefined) return void this.#handle(due, () => this.#expire(due));
    const { limited } = this.#deps;
    const admission = limited === undefined ? UNLIMITED : limited.admit(due);
    if (admission === undefined) return;
    if (!this.#crashes.admits(due)) return admission.ended();
    void this.#handle(due, () => this.#run(due, { target, admission, startedAt: now }));
  }

  /** A job has no target here. */
  #passOver(due: Due): void {
    const { offers, targets } = this.#deps;
    this.#hasPassedOver = true;
    if (offers === undefined) targets.onNoTarget(due);
    else offers.lacks(due);
  }

  /** Another sidecar of this process still runs this host's job: checks the entry again after that run. */
  #waitFor(call: CodeCall, { key, job }: Due): void {
    if (this.#elsewhere.has(key)) return;
    this.#elsewhere.add(key);
    const { clock, logger } = this.#deps;
    const runningMs = clock.now() - call.startedAt;
    logger.warn({ job: job.name, runningMs }, 'a job waits for its function, still at work in another sidecar');
    call.onEnd(() => {
      this.#elsewhere.delete(key);
      void this.#onHint([key]);
    });
  }

  /** Marks a job as being handled during its run and the recording of its outcome. */
  async #handle(due: Due, handle: () => Promise<void>): Promise<void> {
    const { work, logger } = this.#deps;
    const { name } = due.job;
    const shard = this.#deps.owned.of(name);
    shard.begin();
    this.#running.begin(due);
    const done = this.#work.begin(name);
    const doneForAll = work.begin(`run of job ${name}`);
    try {
      await handle();
    } catch (error) {
      logger.error({ job: name, error }, 'run failed unexpectedly');
    }
    // If the job was replaced meanwhile, the replacement comes next.
    const held = this.#running.end(due);
    if (held !== undefined) this.#due.add(held);
    shard.end();
    done();
    doneForAll();
    const free = this.#crashes.onHandled(due.key);
    if (free.length > 0) void this.#onHint(free);
    this.#pump.pump();
  }

  /** Other hosts may have changed jobs. */
  async #onHint(keys: readonly string[]): Promise<void> {
    if (this.#stopped) return;
    if (keys.length === 0) return this.readAnew();
    const { store, work } = this.#deps;
    const done = work.begin('reading jobs that others have changed');
    try {
      await this.#due.rereadEntries(keys.filter((key) => this.#owners.owns(store.stored.nameOf(key))));
      this.#pump.pump();
    } catch (error) {
      this.#retry.failed(error);
    } finally {
      done();
    }
  }

  async #expire(due: Due): Promise<void> {
    const next: Next = { kind: 'gone', reason: 'expired' };
    if (await this.#recorder.record(due, () => next)) this.#deps.listener.onGone(due.job.name, next.reason);
  }

  async #run(found: Due, attempt: Begun, { startedAt } = attempt): Promise<void> {
    const attempted = await this.#attempt(found, attempt);
    if (attempted === undefined) return;
    const { due, outcome, isCrash, recorded, mayBeRecorded } = attempted;
    const now = this.#deps.clock.now();
    if (recorded !== undefined) {
      this.#recorded(recorded.due, recorded.following);
      return this.#tellEnd({ ...recorded, job: recorded.due.job, outcome: { kind: 'done' }, startedAt, now });
    }
    if (outcome.kind === 'undelivered') {
      this.#hasPassedOver = true;
      return this.#deps.targets.onUndelivered(outcome.reason);
    }
    if (outcome.kind === 'absent') return this.#passOver(due);
    if (outcome.kind === 'brokenOff') return this.#afterBreak(found, due);
    const end = endOf(outcome, isCrash);
    // The application is free even if the store is slow.
    this.#pump.pump();
    const nextOf = (present: StoredJob): Next => this.#nextOf(present, { ...end, startedAt, now });
    const next = await this.#recorder.record(due, nextOf, mayBeRecorded);
    if (next !== undefined) this.#tellEnd({ job: due.job, outcome, next, startedAt, now });
  }

  /** What follows an attempt. `isLast`: the job ends with it. */
  #nextOf(job: StoredJob, { isLast = false, ...end }: EndedAttempt): Next {
    if (isLast) return FINISHED;
    const { schedules, everyTick, maxCrashes, keepFailedMs, random } = this.#deps;
    const schedule = job.schedule === undefined ? undefined : schedules.getStored(job.schedule);
    return afterAttempt(job, { isFinal: false, ...end, schedule, everyTick, maxCrashes, keepFailedMs, random });
  }

  #tellEnd({ startedAt, ...end }: Omit<RecordedAttempt, 'durationMs'> & { readonly startedAt: number }): void {
    const { listener } = this.#deps;
    const { job, next, now } = end;
    listener.onRecorded({ ...end, durationMs: now - startedAt });
    if (next.kind === 'gone') listener.onGone(job.name, next.reason);
  }

  /** An attempt counts as not begun. Its entry is met again, unless it was replaced. */
  async #afterBreak(found: Due, due: Due): Promise<void> {
    if (this.#isTooLate(due, this.#deps.clock.now())) return this.#expire(due);
    if (!this.#running.isOutdated(found)) this.#retry.plan();
  }

  async #attempt(found: Due, { target, admission, startedAt }: Begun): Promise<Attempted | undefined> {
    const place = this.#places.take();
    try {
      return await makeAttempt(found, noted(target, admission), place, startedAt, this.#attemptDeps);
    } catch (error) {
      return void this.#retry.failed(error);
    } finally {
      place.end();
      admission.ended();
    }
  }

  /** Whether a run that was due before the expiry may not begin any more. */
  #isTooLate({ job }: Due, now: number): boolean {
    return this.#deps.endsAtExpiry && job.expiresAt !== undefined && now > job.expiresAt;
  }

  /** An entry was recorded to be replaced by the next one, or by none. */
  #recorded(due: Due, following: Due | undefined): void {
    this.remove({ key: due.key, name: due.job.name });
    if (following === undefined) return;
    this.#running.drop(due.job.name);
    this.#due.add(following);
  }
}
