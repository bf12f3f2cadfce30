import type { CodeCall } from '../../util/code-calls.ts';
import type { SlotLimit } from '../../util/run-limits.ts';
import type { Work } from '../../util/work.ts';
import type { StoredJob } from '../job.ts';
import type { Next } from '../planning/transition.ts';
import type { Prepared } from './job-store.ts';
import type { Due } from './stored-jobs.ts';

/** Why an attempt failed. */
export interface AttemptFailure {
  /** The failure in words. */
  readonly reason: string;
  /** The thrown value, if something was thrown. */
  readonly thrown?: { readonly value: unknown } | undefined;
}

/** The outcome of an attempt. */
export type AttemptOutcome =
  /** `isLast`: the job ends with this run, whatever its schedule says. */
  | { readonly kind: 'done'; readonly isLast?: boolean }
  /** `isFinal`: no retry follows. */
  | (AttemptFailure & { readonly kind: 'failed'; readonly isFinal?: boolean })
  /** Aborted by a stop: counts as not begun. */
  | (AttemptFailure & { readonly kind: 'brokenOff' })
  /** It turned out that there is nothing that runs it: counts as not begun. */
  | { readonly kind: 'absent'; readonly reason: string }
  /** No connection could be made: counts as not begun. */
  | { readonly kind: 'undelivered'; readonly reason: string };

/** The place of an attempt among those that run at the same time. */
export interface AttemptPlace {
  /** The attempt waits for a turn of its own: others may begin meanwhile. */
  leave(): void;
  /** The attempt goes on. Answers whether it still may: not if its job was changed, removed or has expired meanwhile. */
  retake(): boolean | Promise<boolean>;
  /**
   * Prepares the record of a success, which a target may commit together with changes of its own, so that they are made
   * once: its commit needs the fence of the job's shard. After a conflict it is prepared once more. `undefined` if there
   * is nothing to record, since the job was replaced or removed. `isLast`: the job ends with this run.
   */
  prepareEnd(isLast: boolean): Promise<Prepared<void> | undefined>;
}

/**
 * Runs a job once. `data` is its data as JSON text. A target that does not begin at once leaves its place and takes it
 * again; one that may not go on then is `brokenOff`.
 */
export type Target = (job: StoredJob, data: string | undefined, place: AttemptPlace) => Promise<AttemptOutcome>;

/** Limits of runs, and the name that they hold for. */
export interface NamedLimits {
  readonly name: string;
  readonly limits: readonly SlotLimit[];
}

/** Has the targets of jobs. */
export interface Targets {
  /** The current target of a job; `undefined` while it has none: the job waits. */
  targetOf(name: string): Target | undefined;
  /** The limits of the runs of a job and others, and what they have in common. Default: none. */
  limitsOf?(name: string): NamedLimits | undefined;
  /** The run of a job that goes on in another sidecar of this process: a new run must wait for its end. */
  elsewhere(name: string): CodeCall | undefined;
  /** A job is due, and no host has a target. Called again, for the same entry too, whenever it is met. */
  onNoTarget(due: Due): void;
  /** A target made no connection. */
  onUndelivered(reason: string): void;
  /** Waits for `work`, the current runs, within the grace period of a stop. */
  stop(work: Work, gracePeriodMs: number): Promise<void>;
}

/** An attempt whose end is recorded. */
export interface RecordedAttempt {
  /** The job before the attempt. */
  readonly job: StoredJob;
  readonly outcome: AttemptOutcome;
  readonly next: Next;
  readonly durationMs: number;
  readonly now: number;
}

/** Is called for the runs of jobs. */
export interface RunListener {
  /** An attempt begins. */
  onAttempt(job: StoredJob): void;
  /** An attempt has ended, and its outcome is stored. */
  onRecorded(attempt: RecordedAttempt): void;
  /** A job has ended, and is no longer stored. */
  onGone(name: string, reason: 'finished' | 'expired'): void;
}
