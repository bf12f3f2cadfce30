import type { JobRunInfo, SidecarEventEmitter } from '../../../events.ts';
import { logged, told } from '../../failure.ts';
import type { StoredJob } from '../model/job.ts';
import type { Next } from '../planning/transition.ts';
import type { AttemptOutcome } from './delivery.ts';
import type { JobsDeps } from './jobs-deps.ts';

/** An attempt whose end is recorded. */
export interface RecordedAttempt {
  /** The job before the attempt. */
  readonly job: StoredJob;
  readonly outcome: AttemptOutcome;
  readonly next: Next;
  readonly durationMs: number;
  readonly now: number;
}

function infoOf({ name, tickAt, failures, trace }: StoredJob): JobRunInfo {
  const info = { jobName: name, dueAt: tickAt, attempt: failures + 1 };
  return trace === undefined ? info : { ...info, trace };
}

export function emitScheduled(events: SidecarEventEmitter, { name, tickAt }: StoredJob): void {
  if (events.listenerCount('jobScheduled') > 0) events.emit('jobScheduled', { jobName: name, dueAt: tickAt });
}

export function emitTriggered(events: SidecarEventEmitter, job: StoredJob): void {
  if (events.listenerCount('jobTriggered') > 0) events.emit('jobTriggered', infoOf(job));
}

export function emitGone(
  events: SidecarEventEmitter,
  jobName: string,
  reason: 'finished' | 'expired' | 'deleted',
): void {
  if (events.listenerCount('jobGone') > 0) events.emit('jobGone', { jobName, reason });
}

/** Logs and emits the outcome of an attempt. */
export function emitOutcome(
  { events, logger }: JobsDeps,
  { job, outcome, next, durationMs, now }: RecordedAttempt,
): void {
  if (outcome.kind === 'done') {
    if (events.listenerCount('jobDone') > 0) events.emit('jobDone', { ...infoOf(job), durationMs });
    return;
  }
  const info = { ...infoOf(job), ...told(outcome) };
  const details = { job: job.name, attempt: info.attempt, ...logged(outcome) };
  if (next.kind === 'retry') {
    logger.warn(details, 'run of a job failed: will be tried again');
    events.emit('jobRetrying', { ...info, delayMs: Math.max(0, next.at - now) });
    return;
  }
  logger.error(details, 'run of a job failed for good');
  const isDropped = job.policy !== undefined && 'drop' in job.policy;
  events.emit(isDropped ? 'jobDropped' : 'jobFailed', info);
}
