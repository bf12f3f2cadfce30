import { isAction } from '../model/event-table.ts';
import type { ActionEvent, IncomingEvent, ReplayRules, Turn } from '../model/events.ts';
import { failureOf, NON_DETERMINISM, type WorkflowFailure } from '../model/failure.ts';
import type { Payload } from '../model/payload.ts';
import { retryDelayMs } from '../model/retry.ts';
import type { RunOutcome } from '../model/run-outcome.ts';
import { branchFailures } from './branch-failures.ts';
import type { EventNames, UnreadEvent } from './event-buffer.ts';
import { type EventCount, takeEventsForNextRun, takeLostEvents } from './events-at-end.ts';
import type { ActivityToRun, OpenAttempt } from './open-actions.ts';
import { Run, type RunDeps } from './run.ts';
import { runCode } from './run-code.ts';
import { SeededRandom } from './seeded-random.ts';

/** A failed attempt of a task. */
export interface AttemptReport {
  readonly what: string;
  readonly attempt: number;
  /** After which delay it is tried again; `undefined` when it has failed for good. */
  readonly delayMs: number | undefined;
  readonly failure: WorkflowFailure;
}

/**
 * The replay core: a run of workflow code from the engine's view. Events are applied one by one, whether they are new
 * or from the history. After each event the code runs until it waits again, and may take actions.
 */
export class Core {
  readonly #deps: RunDeps;
  readonly #run: Run;
  #hasBegun = false;
  #hasInput = false;
  /** Events that arrived while the instance is suspended, in order. */
  #held: IncomingEvent[] | undefined;
  /** Activities whose result is among the held events: they are not run again. */
  #reported: Set<number> | undefined;
  #failures: AttemptReport[] = [];
  /** The children that a cancellation has given up, until it is taken. */
  #given: readonly string[] | undefined;

  constructor(deps: RunDeps) {
    this.#deps = deps;
    this.#run = new Run(deps);
  }

  get input(): Payload {
    return this.#run.input;
  }

  /** Whether its `started` event was applied. */
  get hasInput(): boolean {
    return this.#hasInput;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  get isSuspended(): boolean {
    return this.#held !== undefined;
  }

  get outcome(): RunOutcome | undefined {
    return this.#run.outcome;
  }

  get customStatus(): string | undefined {
    return this.#run.customStatus;
  }

  /** Whether the code failed to match the history. */
  get isNonDeterministic(): boolean {
    const { outcome } = this.#run;
    return outcome?.kind === 'failed' && outcome.failure.errorType === NON_DETERMINISM;
  }

  /** The patch in the history that the code does not know, if that is why it failed to match the history. */
  get unknownPatch(): string | undefined {
    return this.#run.unknownPatch;
  }

  /** Replays a turn of the history. */
  async replay({ at, events }: Turn): Promise<void> {
    this.#run.actions.expect(events.filter(isAction));
    for (const event of events) if (!isAction(event)) await this.apply(event, at);
    await this.endTurn();
    // This failure was reported already.
    if (this.isNonDeterministic) return;
    const missing = this.#run.actions.missing();
    if (missing !== undefined) this.#run.endsTooEarly(missing);
  }

  /** Ends the replay: later events are new. `hasEnded` says whether the code should have ended by now. */
  endReplay(hasEnded: boolean): void {
    if (!hasEnded && this.outcome !== undefined && !this.isNonDeterministic)
      this.#run.endsTooEarly({ history: 'the history continues', code: 'ends', patch: undefined });
    this.#run.actions.live();
    this.#given = undefined;
    if (this.isNonDeterministic) this.dropOpen();
  }

  /**
   * All events of a turn are applied: fails the run if the code has not handled a failure in one of its branches. Runs of
   * generators, which have no branches, wait alike: both ways of writing a workflow have the same turns.
   */
  endTurn(): Promise<void> | undefined {
    return this.#run.progress.hasFailures ? new Promise((resolve) => branchFailures.onTold(resolve)) : undefined;
  }

  /** Applies one event and lets the code run until it waits again. Returns `undefined` if the code need not run. */
  apply(event: IncomingEvent, at: number): Promise<void> | undefined {
    this.#run.now = at;
    if (event.type === 'suspended') {
      if (this.outcome === undefined) this.#held ??= [];
      return undefined;
    }
    if (event.type === 'resumed') return this.#resume();
    if (this.#held !== undefined && event.type !== 'terminated') {
      this.#hold(event);
      return undefined;
    }
    return this.#dispatch(event);
  }

  async #resume(): Promise<void> {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#reported = undefined;
    for (const event of held) await this.#dispatch(event);
  }

  #hold(event: IncomingEvent): void {
    this.#held?.push(event);
    if (event.type === 'activityCompleted' || event.type === 'activityFailed') {
      this.#reported ??= new Set();
      this.#reported.add(event.sequence);
    }
    if (event.type === 'timerFired') this.#run.open.setFired(event.sequence);
  }

  #dispatch(event: IncomingEvent): Promise<void> | undefined {
    const run = this.#run;
    run.isInTurn = true;
    run.progress.step++;
    if (this.#wakes(event)) return runCode(run, this.#deps.drain);
    run.isInTurn = false;
    return undefined;
  }

  /** Applies an event; returns whether the code may react to it. */
  #wakes(event: IncomingEvent): boolean {
    const { open } = this.#run;
    switch (event.type) {
      case 'started':
        this.#run.input = event.input;
        this.#hasInput = true;
        return false;
      case 'begun':
        return this.#begin(event.rules);
      case 'activityCompleted':
      case 'childCompleted':
        return this.#attemptCompleted(open.take(event.sequence), event.output);
      case 'activityFailed':
      case 'childFailed':
        return this.#attemptFailed(open.take(event.sequence), event.failure);
      case 'timerFired':
        if (this.outcome === undefined) open.takeTimer(event.sequence)?.fire();
        return this.outcome === undefined;
      case 'eventRaised':
        return this.#raise(event.name, event.data);
      case 'cancelRequested':
        return this.#cancel();
      case 'terminated':
        this.#terminate(event.output);
        return false;
      case 'suspended':
      case 'resumed':
        return false;
    }
  }

  #begin(rules: ReplayRules | undefined): boolean {
    if (this.#hasBegun || this.outcome !== undefined) return false;
    this.#hasBegun = true;
    this.#run.rules = rules;
    try {
      this.#run.begin();
    } catch (error) {
      this.#run.fail(failureOf(error));
    }
    return true;
  }

  #raise(name: string, data: Payload): boolean {
    if (this.outcome !== undefined) {
      // It goes along with the next run; without one, a warning names it.
      this.#run.buffer.keep(name, data);
      return false;
    }
    const task = this.#run.buffer.raise(name, data);
    if (task !== undefined) this.#run.open.cancelLimitOf(task);
    return task !== undefined;
  }

  /** Gives up what the code waits for: it may clean up, with calls that are made as always. Code that has not begun has nothing to clean up. */
  #cancel(): boolean {
    if (this.outcome !== undefined || this.#run.isCanceled) return false;
    this.#given = this.#run.cancel();
    if (!this.#hasBegun) this.#run.end({ kind: 'canceled' });
    return this.#hasBegun;
  }

  #terminate(output: Payload): void {
    this.#held = undefined;
    this.#run.end({ kind: 'terminated', output });
    if (this.outcome?.kind === 'terminated') this.dropOpen();
  }

  /** Code that has ended is never woken again, not even a branch without a waiter. */
  #attemptCompleted(completed: OpenAttempt | undefined, output: Payload): boolean {
    if (completed === undefined || this.outcome !== undefined) return false;
    const { task, failure } = completed;
    if (failure === undefined) task.complete(output);
    else task.fail(failure);
    return true;
  }

  #attemptFailed(failed: OpenAttempt | undefined, failure: WorkflowFailure): boolean {
    if (failed === undefined) return false;
    if (failed.failure !== undefined) return this.#attemptCompleted(failed, undefined);
    const { task, attempt } = failed;
    const hasEnded = this.outcome !== undefined;
    const delayMs = hasEnded ? undefined : this.#delayOf(failed, failure);
    if (!this.#run.isReplaying) this.#failures.push({ what: task.what, attempt, delayMs, failure });
    if (hasEnded) return false;
    if (delayMs === undefined) {
      task.fail(failure);
      return true;
    }
    const timer = this.#run.startTimer(this.#run.now + delayMs);
    this.#run.open.addTimer({ ...timer, task, fire: failed.again });
    return false;
  }

  /** The policy's handler is workflow code and may throw. */
  #delayOf({ attempt, firstAt, retry, sequence }: OpenAttempt, failure: WorkflowFailure): number | undefined {
    try {
      const random = (): number => new SeededRandom(`${this.#deps.executionId}/retry/${sequence}`).number();
      return retryDelayMs(retry, { attempt, firstAt, now: this.#run.now, random, failure });
    } catch (error) {
      this.#run.end({ kind: 'failed', failure: failureOf(error) });
      return undefined;
    }
  }

  /** Fails the run for a reason of the engine, and drops this turn's actions. */
  abandon(failure: WorkflowFailure): void {
    this.#run.actions.take();
    this.dropOpen();
    this.#run.end({ kind: 'failed', failure }, true);
  }

  /** Forgets all open actions. */
  dropOpen(): void {
    this.#run.open.clear();
    this.#reported = undefined;
  }

  /** Takes the actions since the last call. */
  takeActions(): readonly ActionEvent[] {
    return this.#run.actions.take();
  }

  /** The children to cancel, if the run was canceled since the last call of `takeCanceled`. */
  get canceledChildren(): readonly string[] | undefined {
    return this.#given;
  }

  /** Whether the run was canceled since the last call. */
  takeCanceled(): boolean {
    const isCanceled = this.#given !== undefined;
    this.#given = undefined;
    return isCanceled;
  }

  /** Takes the attempts that have failed since the last call. */
  takeFailures(): readonly AttemptReport[] {
    const failures = this.#failures;
    if (failures.length > 0) this.#failures = [];
    return failures;
  }

  /** Unread events that the next run takes over. */
  takeUnread(): readonly UnreadEvent[] {
    return takeEventsForNextRun(this.#run.usedBuffer, this.outcome);
  }

  /** The events that end with the run, though no code has got them. */
  takeLost(): readonly EventCount[] {
    return takeLostEvents(this.#run.usedBuffer, this.outcome);
  }

  /** The names of the events that the code waits for, or has not waited for. */
  get eventNames(): EventNames | undefined {
    return this.outcome === undefined ? this.#run.usedBuffer?.names() : undefined;
  }

  get nextTimerAt(): number | undefined {
    return this.outcome === undefined ? this.#run.open.nextTimerAt : undefined;
  }

  /** The next timer that is due, as an event. */
  shiftDue(now: number): IncomingEvent | undefined {
    const sequence = this.outcome === undefined ? this.#run.open.shiftDue(now) : undefined;
    return sequence === undefined ? undefined : { type: 'timerFired', sequence };
  }

  /** The number of activities without a result. */
  get activityCount(): number {
    return this.#run.open.activityCount - (this.#reported?.size ?? 0);
  }

  /** Activities without a result. */
  activities(): readonly ActivityToRun[] {
    return this.#run.open.activities().filter(({ sequence }) => this.#reported?.has(sequence) !== true);
  }

  /** Whether a result of an activity is still of use. */
  isOpen(sequence: number): boolean {
    return this.#run.open.has(sequence);
  }

  activity(sequence: number): ActivityToRun | undefined {
    return this.#run.open.activity(sequence);
  }
}
