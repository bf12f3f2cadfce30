import { isStateError } from '../../../state/errors.ts';
import { type Backoff, backoffDelayMs } from '../../../util/backoff.ts';
import { CancelSource, type CancelToken } from '../../../util/cancel-token.ts';
import { sleep } from '../../../util/clock.ts';
import type { IncomingEvent } from '../model/events.ts';
import { TOO_LARGE } from '../model/failure.ts';
import type { ActivityToRun } from '../replay/open-actions.ts';
import { attemptInputOf } from '../storage/attempt-inputs.ts';
import type { InstanceStore } from '../storage/instance-store.ts';
import type { AttemptFields } from '../storage/layout.ts';
import type { RunTrace } from '../storage/record.ts';
import type { Outgoing } from '../storage/turn-plan.ts';
import type { ActivityAttempt, AttemptOwner } from './activity-crashes.ts';
import type { InFlightCounter } from './in-flight-counter.ts';
import type { IntakeMessage } from './turn-intake.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** What the host of an instance lacks for an attempt, and all that another host needs to make it, but the input. */
export interface OfferedActivity {
  readonly kind: 'activity';
  readonly name: string;
  readonly activityId: number;
  readonly attempt: number;
  readonly timeoutMs?: number | undefined;
  readonly trace?: RunTrace | undefined;
  /** As in an {@link ActivityAttempt}. */
  readonly crashes?: number | undefined;
  readonly isRepeated: boolean;
}

/** The dependencies of {@link TakenAttempts}. */
export interface TakenAttemptsDeps extends Pick<WorkflowsDeps, 'clock' | 'logger' | 'random' | 'newId' | 'work'> {
  readonly store: InstanceStore;
  readonly inFlight: InFlightCounter;
  readonly run: (attempt: ActivityAttempt) => void;
  /** Writes a result, and that the attempt is made. Answers the version, unless another host makes it now. */
  readonly finish: (id: string, message: Outgoing) => Promise<number | undefined>;
  /** A result was written for an instance that may be one of this host. */
  readonly onResult: (message: Outgoing, version: number) => void;
  /** An attempt is with this host no more. */
  readonly onLeft: () => void;
}

/** Backoff after a failed read or write. */
const BACKOFF: Backoff = { initialDelayMs: 100, maxDelayMs: 5_000, factor: 2, jitter: 0.2 };

/** Attempts that this host makes for instances of other hosts, which lack the code of the activities. */
export class TakenAttempts {
  readonly #deps: TakenAttemptsDeps;
  readonly #here = new Map<string, TakenAttempt>();
  #isStopping = false;

  constructor(deps: TakenAttemptsDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#here.size;
  }

  /** This host has taken an attempt: makes it, unless it already does. `run` is code that no registry has. */
  begin(id: string, fields: AttemptFields, offered: OfferedActivity, run: ActivityToRun['run']): void {
    if (this.#here.has(id)) return;
    const { work, inFlight } = this.#deps;
    const taken = new TakenAttempt(fields, offered, {
      inFlight,
      onResult: (event) => void this.#record(id, taken, event),
    });
    this.#here.set(id, taken);
    const done = work.begin('reading the input of an activity');
    void this.#run(id, taken, { fields, offered, run }).finally(done);
  }

  async #run(
    id: string,
    taken: TakenAttempt,
    { fields, offered, run }: { fields: AttemptFields; offered: OfferedActivity; run: ActivityToRun['run'] },
  ): Promise<void> {
    const { logger, store } = this.#deps;
    const { name, activityId, attempt, timeoutMs, crashes, isRepeated } = offered;
    const { instanceId, executionId, sequence } = fields;
    const input = await this.#again(taken, 'the input of an activity could not be read', async () => {
      const key = store.layout.attemptInput(id);
      return attemptInputOf(key, await store.message(key));
    });
    if (taken.isGone || this.#isStopping) return;
    if (isRepeated)
      logger.warn(
        { instanceId, activity: name, attempt, crashes },
        'an activity runs again: the process ended during its last run',
      );
    const activity = { sequence, activityId, attempt, name, input, run, timeoutMs };
    this.#deps.run({ instance: taken, activity, executionId, crashes, isRepeated, isTaken: true, startedAt: 0 });
  }

  /** Writes the result of an attempt. Until that is done, the attempt is with this host. */
  async #record(id: string, taken: TakenAttempt, event: IncomingEvent): Promise<void> {
    const { store, work, clock, newId, finish, onResult } = this.#deps;
    const { id: to, record } = taken;
    const done = work.begin('recording the result of an activity for another host');
    const key = store.messageKey(to, Math.floor(clock.now()), newId());
    let message: Outgoing = { to, key, event, executionId: record.executionId };
    const version = await this.#again(taken, 'the result of an activity could not be recorded', async () => {
      try {
        return await finish(id, message);
      } catch (error) {
        if (!isStateError(error) || error.kind !== 'invalid' || event.type !== 'activityCompleted') throw error;
        const failure = { errorType: TOO_LARGE, message: `the result cannot be written: ${error.message}` };
        message = { ...message, event: { type: 'activityFailed', sequence: event.sequence, failure } };
        return finish(id, message);
      }
    });
    if (version !== undefined) {
      this.giveUp(id);
      onResult(message, version);
    }
    done();
  }

  /** Tries something until it succeeds, this host stops, or the attempt is with another one. */
  async #again<T>(taken: TakenAttempt, problem: string, attempt: () => Promise<T>): Promise<T | undefined> {
    const { clock, random, logger } = this.#deps;
    for (let tries = 1; !taken.isGone; tries++) {
      try {
        return await attempt();
      } catch (error) {
        if (this.#isStopping || taken.isGone) return undefined;
        logger.error({ instanceId: taken.id, error }, `${problem}: will be tried again`);
        await sleep(clock, backoffDelayMs(BACKOFF, tries, random));
      }
    }
    return undefined;
  }

  /** An attempt is with this host no more: if it runs, its result does not count. */
  giveUp(id: string, reason: unknown = GIVEN_UP): void {
    const taken = this.#here.get(id);
    if (taken === undefined) return;
    this.#here.delete(id);
    taken.leave(reason);
    this.#deps.onLeft();
  }

  /** Begins none any more. Answers the IDs of those that have not begun. */
  stop(): readonly string[] {
    this.#isStopping = true;
    return [...this.#here].filter(([, taken]) => !taken.hasBegun).map(([id]) => id);
  }

  /** The IDs of all that are here. */
  ids(): readonly string[] {
    return [...this.#here.keys()];
  }
}

/** Created once: with its stack trace, an error costs as much as the rest. */
const GIVEN_UP = new Error('the workflow does not wait for this attempt of the activity any more');

interface TakenDeps {
  readonly inFlight: InFlightCounter;
  readonly onResult: (event: IncomingEvent) => void;
}

/** An instance of another host, as the attempt that this one makes for it sees it. */
class TakenAttempt implements AttemptOwner {
  readonly id: string;
  readonly record: AttemptOwner['record'];
  readonly core: AttemptOwner['core'] = { isOpen: () => !this.#isGone };
  readonly #deps: TakenDeps;
  #cancellation: CancelSource | undefined;
  #leftFor: unknown;
  #isGone = false;
  #running = 0;
  /** Whether the attempt runs, or has run. */
  hasBegun = false;

  constructor({ instanceId, executionId }: AttemptFields, { trace }: OfferedActivity, deps: TakenDeps) {
    this.id = instanceId;
    this.record = { executionId, trace, status: 'RUNNING' };
    this.#deps = deps;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get mayBegin(): boolean {
    return !this.#isGone;
  }

  get isPaused(): boolean {
    return false;
  }

  get running(): number {
    return this.#running;
  }

  set running(running: number) {
    this.#running = running;
    this.hasBegun = true;
  }

  get cancellation(): CancelToken {
    if (this.#cancellation === undefined) {
      this.#cancellation = new CancelSource();
      if (this.#isGone) this.#cancellation.abort(this.#leftFor);
    }
    return this.#cancellation;
  }

  post({ event }: IntakeMessage): void {
    if (event !== undefined) this.#deps.onResult(event);
  }

  checkQuiet(): void {
    // Nothing waits for its end.
  }

  leave(reason: unknown): void {
    this.#isGone = true;
    this.#leftFor = reason;
    this.#cancellation?.abort(reason);
    this.#deps.inFlight.remove(this.#running);
  }
}
