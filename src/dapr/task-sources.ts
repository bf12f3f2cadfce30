import { valueOfText } from '../blocks/workflow/model/payload.ts';
import type { Task as CoreTask } from '../blocks/workflow/replay/execution.ts';
import { type TaskFailedError, taskError } from './task-failed-error.ts';

/** The state and result of a task. */
export interface TaskSource<T> {
  /** A description for messages. */
  readonly what: string;
  readonly isComplete: boolean;
  readonly isFailed: boolean;
  /** The result, once complete and not failed. */
  value(): T;
  /** The failure, once failed. */
  error(): TaskFailedError;
  /** Calls back once the task has completed or failed; at once if it already has. */
  onSettled(listener: () => void): void;
  /** Notes that the workflow knows of the result. An event that it does not know of goes along with `continueAsNew`. */
  noteSeen(): void;
}

/** A task of the engine. */
export class SingleSource<T> implements TaskSource<T> {
  readonly #task: CoreTask;
  #result: { readonly value: T } | undefined;
  #error: TaskFailedError | undefined;

  constructor(task: CoreTask) {
    this.#task = task;
  }

  get what(): string {
    return this.#task.what;
  }

  get isComplete(): boolean {
    return this.#task.state !== 'pending';
  }

  get isFailed(): boolean {
    return this.#task.state === 'failed';
  }

  /** Always returns the same object. */
  value(): T {
    // Callers know the result types of their activities and events.
    this.#result ??= { value: valueOfText(this.#task.value) as T };
    this.noteSeen();
    return this.#result.value;
  }

  error(): TaskFailedError {
    this.#error ??= taskError(this.#task);
    return this.#error;
  }

  onSettled(listener: () => void): void {
    this.#task.noteWait(false);
    this.#task.onSettled(listener);
  }

  noteSeen(): void {
    this.#task.noteSeen();
  }
}

/** An event that happens once, with its listeners. */
class Ending {
  #isReached = false;
  #listeners: (() => void)[] = [];

  get isReached(): boolean {
    return this.#isReached;
  }

  on(listener: () => void): void {
    if (this.#isReached) listener();
    else this.#listeners.push(listener);
  }

  reach(): void {
    this.#isReached = true;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }
}

/** All of several tasks, or their first failure. */
export class AllSource<T> implements TaskSource<T[]> {
  readonly what: string;
  readonly #sources: readonly TaskSource<T>[];
  readonly #ending = new Ending();
  #open: number;
  #failed: TaskSource<T> | undefined;

  constructor(sources: readonly TaskSource<T>[]) {
    this.what = `whenAll of ${sources.length} tasks`;
    this.#sources = sources;
    this.#open = sources.length;
    if (sources.length === 0) this.#ending.reach();
    for (const source of sources) source.onSettled(() => this.#ended(source));
  }

  #ended(source: TaskSource<T>): void {
    this.#open--;
    if (this.isComplete) return;
    if (source.isFailed) this.#failed = source;
    if (source.isFailed || this.#open === 0) this.#ending.reach();
  }

  get isComplete(): boolean {
    return this.#ending.isReached;
  }

  get isFailed(): boolean {
    return this.#failed !== undefined;
  }

  value(): T[] {
    return this.#sources.map((source) => source.value());
  }

  error(): TaskFailedError {
    if (this.#failed === undefined) throw new Error(`${this.what} has not failed`);
    return this.#failed.error();
  }

  onSettled(listener: () => void): void {
    this.#ending.on(listener);
  }

  noteSeen(): void {
    for (const source of this.#sources) source.noteSeen();
  }
}

interface Candidate<T> {
  readonly task: T;
  readonly source: TaskSource<unknown>;
}

/** The first of several tasks to complete or fail; never fails itself. */
export class AnySource<T> implements TaskSource<T> {
  readonly what: string;
  readonly isFailed = false;
  readonly #ending = new Ending();
  #first: Candidate<T> | undefined;

  constructor(candidates: readonly Candidate<T>[]) {
    this.what = `whenAny of ${candidates.length} tasks`;
    for (const candidate of candidates) candidate.source.onSettled(() => this.#ended(candidate));
  }

  #ended(candidate: Candidate<T>): void {
    if (this.isComplete) return;
    this.#first = candidate;
    this.#ending.reach();
  }

  get isComplete(): boolean {
    return this.#ending.isReached;
  }

  value(): T {
    if (this.#first === undefined) throw new Error(`${this.what} is not complete`);
    this.noteSeen();
    return this.#first.task;
  }

  error(): never {
    throw new Error(`${this.what} cannot fail`);
  }

  onSettled(listener: () => void): void {
    this.#ending.on(listener);
  }

  noteSeen(): void {
    this.#first?.source.noteSeen();
  }
}
