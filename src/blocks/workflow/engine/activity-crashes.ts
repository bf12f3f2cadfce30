import type { Change } from '../../../kernel/commit-batcher.ts';
import type { Admission } from '../../../kernel/limits.ts';
import { isConflictError } from '../../../state/errors.ts';
import { type Backoff, backoffDelayMs } from '../../../util/backoff.ts';
import { sleep } from '../../../util/clock.ts';
import { crashReason, isHopeless, isSuspect } from '../../../util/crashes.ts';
import { PROCESS_ENDED, type WorkflowFailure } from '../model/failure.ts';
import { isFinished } from '../model/instance.ts';
import type { ActivityToRun } from '../replay/open-actions.ts';
import type { BegunAttempts } from '../storage/begun-attempts.ts';
import type { InstanceStore } from '../storage/instance-store.ts';
import type { AttemptFields } from '../storage/layout.ts';
import type { InstanceRecord } from '../storage/record.ts';
import type { LiveInstance } from './live-instance.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** The instance of an attempt, as the attempt sees it. */
export interface AttemptOwner
  extends Pick<
    LiveInstance,
    'id' | 'isGone' | 'mayBegin' | 'isPaused' | 'cancellation' | 'running' | 'post' | 'checkQuiet'
  > {
  readonly record: Pick<InstanceRecord, 'executionId' | 'trace' | 'status'>;
  readonly core: Pick<LiveInstance['core'], 'isOpen'>;
}

/** An attempt of an activity that waits or runs. */
export interface ActivityAttempt {
  readonly instance: AttemptOwner;
  readonly activity: ActivityToRun;
  /** The run that called it. When that run continues as new, it is dropped while it waits. */
  readonly executionId: string;
  /** Once it runs. */
  startedAt: number;
  /** How often the process ended while this attempt, or those before it, were under way. `undefined`: not counted. */
  readonly crashes: number | undefined;
  /** Whether the last of these ends was during this attempt. */
  readonly isRepeated: boolean;
  /** Whether it is made for an instance of another host. The entry with which that was taken counts its crashes. */
  readonly isTaken: boolean;
  /** What it has of its limit over all hosts. */
  admission?: Admission | undefined;
}

/** The dependencies of {@link ActivityCrashes}. */
export interface ActivityCrashesDeps
  extends Pick<WorkflowsDeps, 'maxCrashes' | 'clock' | 'random' | 'work' | 'logger'> {
  readonly store: InstanceStore;
  readonly begun: BegunAttempts;
  /** The fence of an instance's commits. @throws ConflictError when this host does not own it. */
  readonly fence: (id: string) => Change['fence'];
  /** Whether an error says that another host owns an instance now. */
  readonly isFenced: (error: unknown) => boolean;
}

/** Backoff after a failed write. */
const BACKOFF: Backoff = { initialDelayMs: 100, maxDelayMs: 5_000, factor: 2, jitter: 0.2 };

/**
 * Counts how often the process ends while an attempt of an activity is under way.
 *
 * Only attempts that another process may have begun are recorded before they begin: those that an instance has open when
 * it is read from the store, and those with a count. All others cost nothing: if one of them ends the process, it is
 * open when the next one reads the instance. Attempts that were under way together are all counted. So after two crashes
 * they run one after the other, and only the one that ends the process reaches the limit.
 */
export class ActivityCrashes {
  readonly #deps: ActivityCrashesDeps;
  /** The attempts under way that are recorded. */
  readonly #recorded = new Set<ActivityAttempt>();
  /** The counts that the next attempts of activities go on with, by run and activity. */
  readonly #carried = new Map<AttemptOwner, Map<string, number>>();
  /** The suspect that runs, and those that wait for its end. */
  #suspect: ActivityAttempt | undefined;
  #held: ActivityAttempt[] = [];
  #isStopping = false;

  constructor(deps: ActivityCrashesDeps) {
    this.#deps = deps;
  }

  get #max(): number {
    return this.#deps.maxCrashes;
  }

  /** How many attempts wait for the end of a suspect. */
  get heldCount(): number {
    return this.#held.length;
  }

  /** The count with which a new attempt begins: that of the attempt before, if that has crashed. */
  carriedOf(instance: LiveInstance, activity: ActivityToRun): number | undefined {
    if (activity.attempt === 1 || this.#carried.size === 0) return undefined;
    return this.#carried.get(instance)?.get(activityOf({ executionId: instance.record.executionId, activity }));
  }

  /** Why an attempt is not made; `undefined` if it is. The next attempt goes on with its count. */
  verdict(attempt: ActivityAttempt): WorkflowFailure | undefined {
    const { instance, crashes, isRepeated } = attempt;
    if (crashes === undefined) return undefined;
    if (!isGivenUp(crashes, isRepeated, this.#max)) return undefined;
    const carried = this.#carried.get(instance) ?? new Map<string, number>();
    this.#carried.set(instance, carried.set(activityOf(attempt), crashes));
    return { errorType: PROCESS_ENDED, message: crashReason(crashes) };
  }

  /** Whether an attempt may begin now. A suspect that may not comes with {@link ActivityCrashes.ended} of another. */
  admits(attempt: ActivityAttempt): boolean {
    const { crashes } = attempt;
    if (crashes === undefined || !isSuspect(crashes, this.#max)) return true;
    if (this.#suspect === undefined) this.#suspect = attempt;
    else this.#held.push(attempt);
    return this.#suspect === attempt;
  }

  /** Records that an attempt begins; answers whether it may. */
  async begin(attempt: ActivityAttempt): Promise<boolean> {
    const { instance, activity, crashes = 0, isRepeated } = attempt;
    const { logger, begun } = this.#deps;
    if (isRepeated)
      logger.warn(
        { instanceId: instance.id, activity: activity.name, attempt: activity.attempt, crashes },
        'an activity runs again: the process ended during its last run',
      );
    if (!(await this.#write(attempt, { put: [begun.put(nameOf(attempt), crashes + 1)] }))) return false;
    this.#recorded.add(attempt);
    if (!this.#isStopping && instance.mayBegin && instance.record.executionId === attempt.executionId) return true;
    await this.#uncountOne(attempt);
    return false;
  }

  /** Answers `false` when another host owns the instance, or it need not be written any more. */
  async #write({ instance }: ActivityAttempt, change: Change): Promise<boolean> {
    const { clock, random, logger, store, fence, isFenced } = this.#deps;
    for (let tries = 1; ; tries++) {
      try {
        await store.write({ ...change, fence: fence(instance.id) });
        return true;
      } catch (error) {
        if (isFenced(error) || isConflictError(error)) return false;
        if (instance.isGone || this.#isStopping) return false;
        logger.error({ instanceId: instance.id, error }, 'the begin of an activity could not be recorded');
        await sleep(clock, backoffDelayMs(BACKOFF, tries, random));
      }
    }
  }

  /** The key whose entry goes with the attempt's result; `undefined` if it has none. */
  keyOf(attempt: ActivityAttempt): string | undefined {
    return attempt.crashes === undefined || attempt.isTaken ? undefined : this.#deps.begun.key(nameOf(attempt));
  }

  /** An attempt has ended, or is not made. Returns those that may begin now. */
  ended(attempt: ActivityAttempt): readonly ActivityAttempt[] {
    this.#recorded.delete(attempt);
    if (this.#suspect !== attempt) return NONE;
    this.#suspect = undefined;
    return this.#held.splice(0);
  }

  /** An attempt has a result of its own: that ends the count. */
  survived(attempt: ActivityAttempt): void {
    this.#carried.get(attempt.instance)?.delete(activityOf(attempt));
  }

  /** Attempts that go on are no crashes, whatever comes: the process is about to end in order. */
  stop(): void {
    this.#isStopping = true;
    for (const attempt of this.#recorded) void this.#uncountOne(attempt);
  }

  /** Like `stop`, for one instance that is handed over, or leaves memory. */
  uncount(instance: LiveInstance): void {
    for (const attempt of this.#recorded) if (attempt.instance === instance) void this.#uncountOne(attempt);
  }

  /** Forgets an instance that has left memory. */
  forget(instance: LiveInstance): void {
    this.#carried.delete(instance);
    this.uncount(instance);
  }

  async #uncountOne(attempt: ActivityAttempt): Promise<void> {
    const { work, begun } = this.#deps;
    const { instance, crashes = 0 } = attempt;
    this.#recorded.delete(attempt);
    const isOver = crashes === 0 || isFinished(instance.record.status);
    const name = nameOf(attempt);
    const done = work.begin('end of the watch over an activity');
    await this.#write(attempt, isOver ? { delete: [begun.key(name)] } : { put: [begun.put(name, crashes)] });
    done();
  }
}

const NONE: readonly ActivityAttempt[] = [];

/** Whether an attempt after so many crashes is not made; `isRepeated` as in an {@link ActivityAttempt}. */
export function isGivenUp(crashes: number, isRepeated: boolean, maxCrashes: number): boolean {
  return isRepeated ? crashes >= maxCrashes : isHopeless(crashes, maxCrashes);
}

function nameOf({ instance, executionId, activity: { sequence } }: ActivityAttempt): AttemptFields {
  return { instanceId: instance.id, executionId, sequence };
}

function activityOf({ executionId, activity }: Pick<ActivityAttempt, 'executionId' | 'activity'>): string {
  return `${executionId} ${activity.activityId}`;
}
