import type { JobRunInfo, SidecarEventEmitter } from '../../../events.ts';
import type { StoredJob } from '../../../timed/job.ts';
import type { RecordedAttempt, RunListener } from '../../../timed/running/target.ts';
import type { Logger } from '../../../util/logger.ts';
import { logged, told } from '../../failure.ts';

/** Where {@link JobEvents} go. */
export interface JobEventsDeps {
  readonly events: SidecarEventEmitter;
  readonly logger: Logger;
}

/** Emits the events of jobs, and logs the runs that failed. An event without a listener is not made. */
export class JobEvents implements RunListener {
  readonly #events: SidecarEventEmitter;
  readonly #logger: Logger;

  constructor({ events, logger }: JobEventsDeps) {
    this.#events = events;
    this.#logger = logger;
  }

  onScheduled({ name, tickAt }: StoredJob): void {
    if (this.#events.listenerCount('jobScheduled') > 0)
      this.#events.emit('jobScheduled', { jobName: name, dueAt: tickAt });
  }

  onAttempt(job: StoredJob): void {
    if (this.#events.listenerCount('jobStarted') > 0) this.#events.emit('jobStarted', infoOf(job));
  }

  onGone(jobName: string, reason: 'finished' | 'expired' | 'deleted'): void {
    if (this.#events.listenerCount('jobEnded') > 0) this.#events.emit('jobEnded', { jobName, reason });
  }

  onRecorded({ job, outcome, next, durationMs, now }: RecordedAttempt): void {
    if (outcome.kind === 'done') {
      if (this.#events.listenerCount('jobCompleted') > 0)
        this.#events.emit('jobCompleted', { ...infoOf(job), durationMs });
      return;
    }
    const info = { ...infoOf(job), ...told(outcome) };
    const details = { job: job.name, attempt: info.attempt, ...logged(outcome) };
    if (next.kind === 'retry') {
      this.#logger.warn(details, 'run of a job failed: will be tried again');
      this.#events.emit('jobRetrying', { ...info, delayMs: Math.max(0, next.at - now) });
      return;
    }
    this.#logger.error(details, 'run of a job failed for good');
    const isDropped = job.policy !== undefined && 'drop' in job.policy;
    this.#events.emit(isDropped ? 'jobDropped' : 'jobFailed', info);
  }
}

function infoOf({ name, tickAt, failures, trace }: StoredJob): JobRunInfo {
  const info = { jobName: name, dueAt: tickAt, attempt: failures + 1 };
  return trace === undefined ? info : { ...info, trace };
}
