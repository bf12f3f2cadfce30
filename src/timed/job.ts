import type { Trace } from '../components/pubsub.ts';

/**
 * How scheduling treats an existing job of the same name.
 *
 * - `fail`: rejects the new job with status 409.
 * - `keep`: keeps the existing job unchanged, whatever its options.
 * - `replace`: replaces it; intervals and counters restart.
 * - `update`: keeps it if all options are the same. If only `data` or `retry` differ, changes these and keeps
 *   its next run and counters. If its times differ (`schedule`, `dueTime`, `repeats`, `ttl`), acts like `replace`.
 *
 * @public
 */
export type IfJobExists = 'fail' | 'keep' | 'replace' | 'update';

/** How the last attempt of a job's runs ended. @public */
export interface JobOutcome {
  /** When it ended, in milliseconds since 1970. */
  readonly endedAt: number;
  /**
   * `done`: the run has succeeded. `retrying`: the attempt has failed, and the run will be retried. `failed`: the run
   * has failed for good. `dropped`: it has failed, and its policy is to drop it.
   */
  readonly outcome: 'done' | 'retrying' | 'failed' | 'dropped';
  /** 1 for the first attempt of the run. */
  readonly attempt: number;
  /** How long the attempt took, in milliseconds. */
  readonly durationMs: number;
  /** Why it failed, at most 300 characters; absent if it has succeeded. */
  readonly reason?: string;
}

/** A failure policy as it was set. */
export type PolicyFields =
  | {
      readonly constant: { readonly maxRetries?: number; readonly interval?: string };
      /** How the interval grows; only code can say it. Earlier releases overlook it. */
      readonly backoff?: { readonly factor: number; readonly jitter: number; readonly maxDelayMs?: number };
    }
  | { readonly drop: Readonly<Record<string, never>> };

/** The fields of a job request: their types are checked, their values are not. */
export interface JobFields {
  readonly schedule?: string;
  readonly dueTime?: string;
  readonly repeats?: number;
  readonly ttl?: string;
  readonly ifExists: IfJobExists;
  readonly failurePolicy?: PolicyFields;
  /** JSON text with every digit kept. */
  readonly data?: string;
}

/**
 * A stored job: its options and its progress. No field is optional, so that all objects have the same shape: one is
 * made for every schedule and every run.
 */
export interface StoredJob {
  readonly name: string;
  readonly schedule: string | undefined;
  readonly dueTime: string | undefined;
  readonly repeats: number | undefined;
  readonly ttl: string | undefined;
  readonly policy: PolicyFields | undefined;
  /** JSON text; `undefined` if the job has no data or its data is stored separately. */
  readonly data: string | undefined;
  /** The ID of data that is too large to be written with every run. */
  readonly dataId: string | undefined;
  /** The start of `@every` intervals. */
  readonly anchorAt: number;
  readonly expiresAt: number | undefined;
  /** The instant for which the current run was scheduled. */
  readonly tickAt: number;
  /** How many attempts of the current run have failed. */
  readonly failures: number;
  /**
   * How often in a row the process ended while an attempt was under way, as far as that is known. With `isBegun`, the
   * attempt under way is counted already: it only has to end to be no crash.
   */
  readonly crashes: number;
  /** Whether an attempt was recorded as begun, and has not ended. */
  readonly isBegun: boolean;
  /** When the first attempt of the current run began: the run covers ticks up to then. */
  readonly coveredTo: number | undefined;
  /** How many runs have ended, successfully or not. */
  readonly runs: number;
  /** Whether no runs are left: the job waits for its expiry. */
  readonly ended: boolean;
  readonly lastRun: JobOutcome | undefined;
  /** When the job would be due if it was not paused; `undefined` if it is not. */
  readonly resumeAt: number | undefined;
  /**
   * Set while a run is made that was asked for: the tick that comes after it. If that is `tickAt`, the run of the tick
   * is made earlier than it would be retried.
   */
  readonly heldTickAt: number | undefined;
  /**
   * The version of an earlier entry from which this one differs only by pauses, resumptions and updates of other fields
   * than times: a run that began with that entry ends with this one.
   */
  readonly basis: number | undefined;
  /** The trace of the code that scheduled it, if there was one. */
  readonly trace: Trace | undefined;
}

/** The maximum size of data stored with the job itself, in bytes. */
export const MAX_INLINE_DATA_BYTES: number = 4 * 1024;
