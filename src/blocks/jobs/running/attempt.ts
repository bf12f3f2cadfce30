import type { OwnedShards } from '../../../kernel/owned-shards.ts';
import { isConflict } from '../../../state/errors.ts';
import type { CrashCounter } from './crash-counter.ts';
import type { AttemptOutcome, Delivery, Target } from './delivery.ts';
import type { DueJobs } from './due-jobs.ts';
import { emitTriggered } from './emit-events.ts';
import type { JobStore } from './job-store.ts';
import type { JobsDeps } from './jobs-deps.ts';
import type { RunningJobs } from './running-jobs.ts';
import type { Due } from './stored-jobs.ts';

/** An attempt that was made, or is not made again since the process has ended during it too often. */
export interface Attempted {
  /** The entry that the end of the attempt replaces. */
  readonly due: Due;
  readonly outcome: AttemptOutcome;
  readonly isCrash: boolean;
}

/** The dependencies of {@link makeAttempt}. */
export interface AttemptDeps {
  readonly host: JobsDeps;
  readonly store: JobStore;
  readonly owned: OwnedShards;
  readonly delivery: Delivery;
  readonly due: DueJobs;
  readonly crashes: CrashCounter;
  readonly inHand: RunningJobs;
}

/** Runs a job once, unless it has changed or cannot run. */
export async function makeAttempt(found: Due, target: Target, deps: AttemptDeps): Promise<Attempted | undefined> {
  const { host, store, owned, delivery, due, crashes } = deps;
  const { job } = found;
  const isCareful = crashes.isCareful(found);
  // Other hosts may have changed the entry: check it before the run.
  if (!isCareful && owned.hasPeers && !((await due.isCurrent(found)) && owned.owns(job.name))) return undefined;
  const verdict = crashes.verdict(found);
  if (verdict !== undefined) return { due: found, outcome: verdict, isCrash: true };
  const data = job.dataId === undefined ? job.data : await store.stored.dataOf(job);
  if (job.dataId !== undefined && data === undefined) return withoutData(found, deps);
  // Another sidecar of this process has started it meanwhile.
  if (delivery.elsewhere(job.name) !== undefined) return void deps.inHand.putBack(found);
  const begun = isCareful ? await recordBegin(found, deps) : found;
  if (begun === undefined) return undefined;
  emitTriggered(host.events, job);
  const outcome = await target(job, data);
  // What counts as not begun must not count as a crash either.
  if (outcome.kind === 'undelivered' || outcome.kind === 'brokenOff') await crashes.uncountOne(begun);
  else crashes.ended(begun);
  return { due: begun, outcome, isCrash: false };
}

/** Replacing or removing a job deletes its data. Those of a job that is still there are damaged. */
async function withoutData(found: Due, { due, host }: AttemptDeps): Promise<undefined> {
  if (await due.isCurrent(found))
    host.logger.error({ job: found.job.name }, 'a job cannot run: its data are missing in the store');
}

/** Records that an attempt begins; `undefined` if the job has changed. */
async function recordBegin(found: Due, { crashes, owned, due }: AttemptDeps): Promise<Due | undefined> {
  try {
    return await crashes.begin(found);
  } catch (error) {
    if (!isConflict(error) || owned.isFenced(error)) throw error;
    await due.isCurrent(found);
    return undefined;
  }
}
