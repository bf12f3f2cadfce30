import type { Admission } from '../../kernel/limits.ts';
import type { OwnedShards } from '../../kernel/owned-shards.ts';
import type { StandIns } from '../../kernel/stand-ins.ts';
import { isConflictError } from '../../state/errors.ts';
import type { Logger } from '../../util/logger.ts';
import type { AttemptEnd } from '../planning/transition.ts';
import type { CrashCounter } from './crash-counter.ts';
import type { DueJobs } from './due-jobs.ts';
import type { JobStore } from './job-store.ts';
import type { JointEnd, RecordedEnd } from './joint-end.ts';
import type { Place } from './places.ts';
import type { RunningJobs } from './running-jobs.ts';
import type { Due } from './stored-jobs.ts';
import type { AttemptOutcome, RunListener, Target, Targets } from './target.ts';

/** An attempt that was made, or is not made again since the process has ended during it too often. */
export interface Attempted {
  /** The entry that the end of the attempt replaces. */
  readonly due: Due;
  readonly outcome: AttemptOutcome;
  readonly isCrash: boolean;
  /** The success, if the target has recorded it. */
  readonly recorded?: RecordedEnd | undefined;
  /** Whether the target may have recorded it, and does not know. */
  readonly mayBeRecorded?: boolean;
}

/** An attempt that begins. */
export interface Begun {
  readonly target: Target;
  readonly admission: Admission;
  readonly startedAt: number;
}

/** How an attempt has ended, when, and whether its job ends with it. */
export interface EndedAttempt extends Pick<AttemptEnd, 'outcome' | 'reason' | 'startedAt' | 'now'> {
  readonly isFinal?: boolean;
  readonly isLast?: boolean;
}

/** Which jobs are this host's: those of its shards, unless other hosts stand in for it, and those for which it does. */
export type JobOwners = Pick<StandIns<unknown>, 'owns' | 'fence' | 'isFenced'>;

/** The dependencies of {@link makeAttempt}. */
export interface MakeAttemptDeps {
  readonly logger: Logger;
  readonly store: JobStore;
  readonly owned: OwnedShards;
  readonly owners: JobOwners;
  readonly targets: Targets;
  readonly listener: RunListener;
  readonly due: DueJobs;
  readonly crashes: CrashCounter;
  readonly running: RunningJobs;
  /** Whether the job has ended since it was due. */
  readonly isTooLate: (due: Due) => boolean;
  /** The end of an attempt that its target is to record. */
  readonly jointEnd: (begun: Due, startedAt: number) => JointEnd;
}

/** Runs a job once, unless it has changed or cannot run. */
export async function makeAttempt(
  found: Due,
  target: Target,
  place: Place,
  startedAt: number,
  deps: MakeAttemptDeps,
): Promise<Attempted | undefined> {
  const { store, owned, owners, due, crashes } = deps;
  const { job } = found;
  const isCareful = crashes.isCareful(found);
  // Other hosts may have changed the entry: check it before the run.
  if (!isCareful && owned.hasPeers && !((await due.isCurrent(found)) && owners.owns(job.name))) return undefined;
  const verdict = crashes.verdict(found);
  if (verdict !== undefined) return { due: found, outcome: verdict, isCrash: true };
  const data = job.dataId === undefined ? job.data : await store.stored.dataOf(job);
  if (job.dataId !== undefined && data === undefined) return withoutData(found, deps);
  // Another sidecar of this process has started it meanwhile.
  if (deps.targets.elsewhere(job.name) !== undefined) return void deps.running.putBack(found);
  const begun = isCareful ? await recordBegin(found, deps) : found;
  if (begun === undefined) return undefined;
  deps.listener.onAttempt(job);
  let joint: JointEnd | undefined;
  const outcome = await target(job, data, {
    leave: () => place.leave(),
    retake: () => mayGoOn(found, begun, place.retake(), deps),
    prepareEnd: (isLast) => {
      joint ??= deps.jointEnd(begun, startedAt);
      return joint.prepare(isLast);
    },
  });
  const recorded = joint?.recorded;
  const isBegun = recorded !== undefined || outcome.kind === 'done' || outcome.kind === 'failed';
  // An attempt that counts as not begun must not count as a crash either.
  if (isBegun) crashes.onEnd(begun);
  else await crashes.uncountOne(begun);
  return { due: begun, outcome, isCrash: false, recorded, mayBeRecorded: joint !== undefined };
}

/** Whether a job is still to run as it was found. If it has waited, other hosts too had time to change it. */
function mayGoOn(
  found: Due,
  begun: Due,
  hasWaited: boolean,
  { running, isTooLate, owned, due }: MakeAttemptDeps,
): boolean | Promise<boolean> {
  const isWanted = (): boolean => !running.isOutdated(found) && !isTooLate(found);
  if (!hasWaited || !owned.hasPeers || !isWanted()) return isWanted();
  return due.isCurrent(begun).then((isCurrent) => isCurrent && isWanted());
}

/** Replacing or removing a job deletes its data: if the job is still there, the store is damaged. */
async function withoutData(found: Due, { due, logger }: MakeAttemptDeps): Promise<undefined> {
  if (await due.isCurrent(found))
    logger.error({ job: found.job.name }, 'a job cannot run: its data are missing in the store');
}

/** Records that an attempt begins; `undefined` if the job has changed. */
async function recordBegin(found: Due, { crashes, owners, due }: MakeAttemptDeps): Promise<Due | undefined> {
  try {
    return await crashes.begin(found);
  } catch (error) {
    if (!isConflictError(error) || owners.isFenced(error)) throw error;
    await due.isCurrent(found);
    return undefined;
  }
}

/** A target that says when the function of a limited job has been called. */
export function noted(target: Target, { begun }: Admission): Target {
  return (...run) => {
    const outcome = target(...run);
    begun();
    return outcome;
  };
}

/** What follows from how an attempt has ended. */
export function endOf(
  outcome: AttemptOutcome & { readonly kind: 'done' | 'failed' },
  isCrash: boolean,
): Pick<EndedAttempt, 'outcome' | 'reason' | 'isFinal' | 'isLast'> {
  if (outcome.kind === 'done') return { outcome: 'done', isLast: outcome.isLast === true };
  const { reason, isFinal = false } = outcome;
  return { outcome: isCrash ? 'crashed' : 'failed', reason, isFinal };
}
