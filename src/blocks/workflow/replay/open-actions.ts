import { Heap } from '../../../util/heap.ts';
import type { ActivityFunction } from '../model/definition.ts';
import type { WorkflowFailure } from '../model/failure.ts';
import type { TaskRetry } from '../model/retry.ts';
import type { ActivityCall } from './execution.ts';
import type { OpenTask } from './open-task.ts';

/** An attempt without a result. */
export interface OpenAttempt {
  readonly sequence: number;
  readonly task: OpenTask;
  /** From 1. */
  readonly attempt: number;
  /** When the first attempt began. */
  readonly firstAt: number;
  readonly retry: TaskRetry | undefined;
  /** Starts the next attempt. */
  readonly again: () => void;
  /** The activity to run, if it is one. */
  readonly call?: ActivityCall;
  /** The instance ID of a child. */
  readonly childId?: string;
  /** What its task fails with when the child has ended, however it ends. */
  readonly failure?: WorkflowFailure;
}

/** A timer that has not fired. */
export interface OpenTimer {
  readonly sequence: number;
  readonly dueAt: number;
  readonly task: OpenTask;
  readonly fire: () => void;
}

/** An activity to run. */
export interface ActivityToRun {
  readonly sequence: number;
  readonly activityId: number;
  readonly attempt: number;
  readonly name: string;
  readonly input: string | undefined;
  readonly run: ActivityFunction | undefined;
  readonly timeoutMs: number | undefined;
}

const dueAtOf = ({ dueAt }: OpenTimer): number => dueAt;
const bySequence = (a: { readonly sequence: number }, b: { readonly sequence: number }): number =>
  a.sequence - b.sequence;
const sequenceOf = ({ sequence }: OpenTimer): number => sequence;

/** The actions of a run that have no result yet. */
export class OpenActions {
  readonly #attempts = new Map<number, OpenAttempt>();
  #timers: Map<number, OpenTimer> | undefined;
  /** May hold timers that are no longer open: they are skipped. */
  #heap: Heap<OpenTimer> | undefined;
  #limits: Map<OpenTask, number> | undefined;
  /** Timers that fired while the code is suspended: they stay open until their event is applied. */
  #fired: Set<number> | undefined;
  /** Activities without a result. */
  #activities = 0;

  get activityCount(): number {
    return this.#activities;
  }

  add(attempt: OpenAttempt): void {
    this.#attempts.set(attempt.sequence, attempt);
    if (attempt.call !== undefined) this.#activities++;
  }

  /** Removes and returns an attempt that has ended. */
  take(sequence: number): OpenAttempt | undefined {
    const attempt = this.#attempts.get(sequence);
    if (attempt === undefined) return undefined;
    this.#attempts.delete(sequence);
    if (attempt.call !== undefined) this.#activities--;
    return attempt;
  }

  addTimer(timer: OpenTimer): void {
    this.#timers ??= new Map();
    this.#timers.set(timer.sequence, timer);
    this.#heap ??= new Heap(dueAtOf, sequenceOf);
    this.#heap.push(timer);
  }

  /** Adds a timer that limits another wait. */
  addLimit(timer: OpenTimer): void {
    this.addTimer(timer);
    this.#limits ??= new Map();
    this.#limits.set(timer.task, timer.sequence);
  }

  takeTimer(sequence: number): OpenTimer | undefined {
    const timer = this.#timers?.get(sequence);
    if (timer === undefined) return undefined;
    this.#timers?.delete(sequence);
    this.#fired?.delete(sequence);
    this.#limits?.delete(timer.task);
    return timer;
  }

  /** Marks a timer as fired; its event is applied later. */
  setFired(sequence: number): void {
    if (this.#timers?.has(sequence) !== true) return;
    this.#fired ??= new Set();
    this.#fired.add(sequence);
  }

  /** Cancels the timer that limits a task. */
  cancelLimitOf(task: OpenTask): void {
    const sequence = this.#limits?.get(task);
    if (sequence !== undefined) this.takeTimer(sequence);
  }

  get nextTimerAt(): number | undefined {
    const heap = this.#heap;
    for (let timer = heap?.first; timer !== undefined; timer = heap?.first) {
      if (this.#timers?.has(timer.sequence) === true && this.#fired?.has(timer.sequence) !== true) return timer.dueAt;
      heap?.pop();
    }
    return undefined;
  }

  /** Takes the next due timer off the queue; it stays open until its event is applied. */
  shiftDue(now: number): number | undefined {
    const at = this.nextTimerAt;
    return at === undefined || at > now ? undefined : this.#heap?.pop()?.sequence;
  }

  /** Activities to run: those without a result. */
  activities(): readonly ActivityToRun[] {
    const found: ActivityToRun[] = [];
    for (const { sequence, task, attempt, call } of this.#attempts.values())
      if (call !== undefined) {
        const { name, input, run, timeoutMs } = call;
        found.push({ sequence, activityId: task.sequence, attempt, name, input, run, timeoutMs });
      }
    return found;
  }

  /** The activity with a number, if it has no result. */
  activity(sequence: number): ActivityToRun | undefined {
    const open = this.#attempts.get(sequence);
    if (open?.call === undefined) return undefined;
    const { name, input, run, timeoutMs } = open.call;
    return { sequence, activityId: open.task.sequence, attempt: open.attempt, name, input, run, timeoutMs };
  }

  has(sequence: number): boolean {
    return this.#attempts.has(sequence);
  }

  /**
   * Fails all open actions, in the order in which they began; children only when they have ended, if `childrenEnd`.
   * Answers the instance IDs of the children.
   */
  fail(failure: WorkflowFailure, childrenEnd: boolean): readonly string[] {
    const attempts = [...this.#attempts.values()];
    const children = attempts.filter(({ childId }) => childId !== undefined);
    const given = childrenEnd ? attempts.filter(({ childId }) => childId === undefined) : attempts;
    const open = [...given, ...(this.#timers?.values() ?? [])].sort(bySequence);
    this.clear();
    if (childrenEnd) for (const child of children) this.add({ ...child, failure });
    for (const { task } of open) task.fail(failure);
    return children.flatMap(({ childId }) => childId ?? []);
  }

  clear(): void {
    this.#attempts.clear();
    this.#timers = undefined;
    this.#limits = undefined;
    this.#fired = undefined;
    this.#heap = undefined;
    this.#activities = 0;
  }
}
