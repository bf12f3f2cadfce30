import { valueOfText } from '../blocks/workflow/model/payload.ts';
import type { Task as CoreTask } from '../blocks/workflow/replay/execution.ts';
import { type TaskFailedError, taskError } from './task-failed-error.ts';

/** Where a task has its end from. */
export interface TaskSource<T> {
  /** For messages. */
  readonly what: string;
  readonly isComplete: boolean;
  readonly isFailed: boolean;
  /** Its result, once it is complete and has not failed. */
  value(): T;
  /** Why it failed, once it has. */
  error(): TaskFailedError;
  /** Calls back at its end, at once when that has come. */
  onSettled(listener: () => void): void;
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

  /** The same object for everyone who asks. */
  value(): T {
    // What an activity or an event gives is for those to know who call it.
    this.#result ??= { value: valueOfText(this.#task.value) as T };
    return this.#result.value;
  }

  error(): TaskFailedError {
    this.#error ??= taskError(this.#task);
    return this.#error;
  }

  onSettled(listener: () => void): void {
    this.#task.onSettled(listener);
  }
}

/** Something that happens once, and those who want to know. */
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

/** All of several tasks, or the first failure among them. */
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
}

/** The first of several tasks to end, well or not: never a failure itself. */
export class AnySource<T> implements TaskSource<T> {
  readonly what: string;
  readonly isFailed = false;
  readonly #ending = new Ending();
  #first: { readonly task: T } | undefined;

  constructor(candidates: readonly { readonly task: T; readonly source: TaskSource<unknown> }[]) {
    this.what = `whenAny of ${candidates.length} tasks`;
    for (const { task, source } of candidates) source.onSettled(() => this.#ended(task));
  }

  #ended(task: T): void {
    if (this.isComplete) return;
    this.#first = { task };
    this.#ending.reach();
  }

  get isComplete(): boolean {
    return this.#ending.isReached;
  }

  value(): T {
    if (this.#first === undefined) throw new Error(`${this.what} is not complete`);
    return this.#first.task;
  }

  error(): never {
    throw new Error(`${this.what} cannot fail`);
  }

  onSettled(listener: () => void): void {
    this.#ending.on(listener);
  }
}
