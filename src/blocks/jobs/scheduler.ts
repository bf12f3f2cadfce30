import { isConflict } from '../../state/errors.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { sleep } from '../../util/clock.ts';
import { Work } from '../../util/work.ts';
import { Alarm } from './alarm.ts';
import type { Delivery, Outcome, Target } from './delivery.ts';
import { DueWindow } from './due-window.ts';
import type { Due, JobStore } from './job-store.ts';
import type { JobsHost } from './jobs-host.ts';
import { tellGone, tellOutcome, tellTriggered } from './run-events.ts';
import type { Schedules } from './schedule-cache.ts';
import { type Attempt, afterAttempt, type Next } from './transition.ts';

/** How long to wait before the store, or the application, is asked again. */
const BACKOFF: Backoff = { initialDelayMs: 100, maxDelayMs: 5_000, factor: 2, jitter: 0.2 };
/** Runs that have ended and are being recorded do not count as running, up to so many. */
const MAX_UNRECORDED = 1_000;

/** What a scheduler is made of. */
export interface SchedulerParts {
  readonly store: JobStore;
  readonly schedules: Schedules;
  readonly delivery: Delivery;
  readonly host: JobsHost;
}

/**
 * Runs jobs when they are due: takes them from the window in order of time, with one timer for the next one. A job is
 * in hand from the begin of an attempt until what follows it is in the store.
 */
export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #window: DueWindow;
  readonly #alarm: Alarm;
  readonly #inHand = new Map<string, Due>();
  /** Entries of jobs that are in hand already, as they were replaced while they ran: their turn comes after. */
  readonly #held = new Map<string, Due>();
  readonly #stopRequested = new AbortController();
  readonly #work = new Work();
  #running = 0;
  #isReading = false;
  /** Entries were left in the store because nobody was there to run them. */
  #hasPassedOver = false;
  #isWaitingForApp = false;

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
    this.#window = new DueWindow(parts.store, (due) => this.#isTaken(due));
    this.#alarm = new Alarm(parts.host.clock, () => this.#pump());
  }

  /** Begins to run jobs. */
  start(): void {
    void this.#read();
  }

  /** A job has been written. */
  add(due: Due): void {
    this.#window.add(due);
    if (!this.#stopped) this.#pump();
  }

  /** A job's entry has been removed. */
  remove({ key, job }: Pick<Due, 'key' | 'job'>): void {
    this.#window.remove(key);
    if (this.#held.get(job.name)?.key === key) this.#held.delete(job.name);
  }

  /** Somebody is there who was not there before: looks at what was left. */
  targetsChanged(): void {
    if (this.#hasPassedOver) this.readAnew();
  }

  /** Reads from the store what there is: for when it is not certain what has been written. */
  readAnew(): void {
    this.#hasPassedOver = false;
    this.#window.reset();
    if (!this.#stopped) void this.#read();
  }

  /** Begins nothing new, and waits for what is in hand, but not longer than `patienceMs`. */
  async stop(patienceMs: number): Promise<void> {
    this.#stopRequested.abort(new Error('the scheduler is stopping'));
    this.#alarm.off();
    await this.#work.idle(this.#parts.host.clock, patienceMs);
  }

  get #stopped(): boolean {
    return this.#stopRequested.signal.aborted;
  }

  /** By version: a job that is replaced may have the key of the one before. */
  #isTaken({ version, job }: Due): boolean {
    return this.#inHand.get(job.name)?.version === version || this.#held.get(job.name)?.version === version;
  }

  /** Begins whatever is due, as far as there is room. */
  #pump(): void {
    if (this.#stopped) return;
    const now = this.#parts.host.clock.now();
    let due = this.#window.first();
    while (due !== undefined && due.at <= now && this.#hasRoom) {
      this.#window.shift();
      this.#begin(due, now);
      due = this.#window.first();
    }
    // Without room, the end of a run looks again.
    this.#alarm.set(this.#hasRoom ? due?.at : undefined);
    if (this.#window.isLow) void this.#read();
  }

  get #hasRoom(): boolean {
    const { concurrency } = this.#parts.host;
    return this.#running < concurrency && this.#inHand.size < concurrency + MAX_UNRECORDED;
  }

  #begin(due: Due, now: number): void {
    const { name } = due.job;
    if (this.#inHand.has(name)) return void this.#held.set(name, due);
    const target = due.job.ended ? undefined : this.#parts.delivery.targetOf(name);
    if (target === undefined && !due.job.ended) {
      this.#hasPassedOver = true;
      return;
    }
    void this.#handle(due, target, now);
  }

  /** Has a job in hand as long as something is done for it. */
  async #handle(due: Due, target: Target | undefined, now: number): Promise<void> {
    const { host } = this.#parts;
    const { name } = due.job;
    this.#inHand.set(name, due);
    const done = this.#work.begin(name);
    const doneForAll = host.work.begin(`run of job ${name}`);
    try {
      await (target === undefined ? this.#expire(due) : this.#run(due, target, now));
    } catch (error) {
      host.logger.error({ job: name, error }, 'run failed unexpectedly');
    }
    this.#letGo(name, due);
    done();
    doneForAll();
    this.#pump();
  }

  async #expire(due: Due): Promise<void> {
    const next: Next = { kind: 'gone', reason: 'expired' };
    if (await this.#record(due, next)) tellGone(this.#parts.host.events, due.job.name, next.reason);
  }

  /** What was replaced meanwhile has its turn. */
  #letGo(name: string, due: Due): void {
    if (this.#inHand.get(name) === due) this.#inHand.delete(name);
    const held = this.#held.get(name);
    if (held === undefined || this.#inHand.has(name)) return;
    this.#held.delete(name);
    this.#window.add(held);
  }

  async #run(due: Due, target: Target, startedAt: number): Promise<void> {
    const { host, store, schedules } = this.#parts;
    const { job } = due;
    const schedule = job.schedule === undefined ? undefined : schedules.get(job.schedule);
    let outcome: Outcome;
    this.#running++;
    try {
      const data = job.dataId === undefined ? job.data : await store.dataOf(job);
      // Its data goes with a job that is replaced or removed.
      if (job.dataId !== undefined && data === undefined) return;
      tellTriggered(host.events, job);
      outcome = await target(job, data);
    } catch (error) {
      return this.#leave(error);
    } finally {
      this.#running--;
    }
    if (outcome.kind === 'undelivered') return this.#undelivered(outcome.reason);
    const now = host.clock.now();
    const end = { outcome: outcome.kind satisfies Attempt, startedAt, now, schedule, everyTick: host.everyTick };
    const next = afterAttempt(job, end);
    // The application is free, whatever the store is doing.
    this.#pump();
    if (!(await this.#record(due, next))) return;
    tellOutcome(host, { job, outcome, next, durationMs: now - startedAt, now });
    if (next.kind === 'gone') tellGone(host.events, job.name, next.reason);
  }

  /** Something was not readable: the entry is as it was, and is read again later. */
  async #leave(error: unknown): Promise<void> {
    const { logger, clock } = this.#parts.host;
    if (this.#stopped) return;
    logger.error({ error }, 'a job could not be read from the store: will be tried again');
    clock.setTimeout(() => this.readAnew(), BACKOFF.maxDelayMs);
  }

  /** Writes what follows, until that has worked or has become pointless; answers whether it was written. */
  async #record(due: Due, next: Next): Promise<boolean> {
    for (let tries = 1; !this.#stopped || tries === 1; tries++) {
      try {
        await this.#write(due, next);
        return true;
      } catch (error) {
        if (isConflict(error)) {
          // Replaced or removed while it ran. But if a try before this one has failed, it may have been that one.
          if (tries > 1) this.readAnew();
          return false;
        }
        await this.#afterFailure(error, due, tries);
      }
    }
    return false;
  }

  async #write(due: Due, next: Next): Promise<void> {
    const { store } = this.#parts;
    if (next.kind === 'gone') {
      await store.finish(due);
      return this.#window.remove(due.key);
    }
    const following = await store.advance(due, next.job, next.at);
    this.#window.remove(due.key);
    this.#inHand.delete(due.job.name);
    this.#window.add(following);
  }

  async #afterFailure(error: unknown, { job }: Due, tries: number): Promise<void> {
    const { logger, clock, random } = this.#parts.host;
    if (this.#stopped) return;
    logger.error({ job: job.name, error }, 'the end of a run could not be recorded: will be tried again');
    await sleep(clock, backoffDelayMs(BACKOFF, tries, random), this.#stopRequested.signal).catch(() => undefined);
  }

  /** Reads ahead, one scan at a time. */
  async #read(): Promise<void> {
    if (this.#isReading || this.#stopped) return;
    this.#isReading = true;
    const done = this.#parts.host.work.begin('reading jobs that are due');
    try {
      while (this.#window.isLow && !this.#stopped) await this.#window.read();
    } catch (error) {
      this.#readLater(error);
      return;
    } finally {
      this.#isReading = false;
      done();
    }
    this.#pump();
  }

  #readLater(error: unknown): void {
    const { logger, clock } = this.#parts.host;
    if (this.#stopped) return;
    logger.error({ error }, 'jobs could not be read from the store: will be tried again');
    clock.setTimeout(() => void this.#read(), BACKOFF.maxDelayMs);
  }

  /** No connection could be made: what goes to the application waits until it takes requests again. */
  #undelivered(reason: string): void {
    const { delivery, host } = this.#parts;
    this.#hasPassedOver = true;
    delivery.isAppReady = false;
    if (this.#isWaitingForApp || this.#stopped) return;
    host.logger.warn({ reason }, 'the application cannot be reached: jobs wait for it');
    void this.#waitForApp();
  }

  async #waitForApp(): Promise<void> {
    const { delivery, host } = this.#parts;
    this.#isWaitingForApp = true;
    try {
      for (let tries = 1; !delivery.isAppReady; tries++) {
        await sleep(host.clock, backoffDelayMs(BACKOFF, tries, host.random), this.#stopRequested.signal);
        if (await host.app?.isReachable()) delivery.isAppReady = true;
      }
      this.targetsChanged();
    } catch {
      // Stopped.
    } finally {
      this.#isWaitingForApp = false;
    }
  }
}
