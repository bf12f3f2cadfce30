import type { WorkflowFailure } from '../model/failure.ts';
import type { Payload } from '../model/payload.ts';
import type { Task } from './execution.ts';

/** A task as the engine sees it, which settles it. */
export class OpenTask implements Task {
  readonly what: string;
  readonly sequence: number;
  /** Whether code waits for it. */
  isAwaited = false;
  #state: Task['state'] = 'pending';
  #value: Payload;
  #failure: WorkflowFailure | undefined;
  #listeners: ((task: Task) => void)[] | undefined;
  protected readonly progress: CodeProgress;

  constructor(what: string, sequence: number, progress: CodeProgress) {
    this.what = what;
    this.sequence = sequence;
    this.progress = progress;
  }

  get state(): Task['state'] {
    return this.#state;
  }

  get value(): Payload {
    return this.#value;
  }

  get failure(): WorkflowFailure | undefined {
    return this.#failure;
  }

  onSettled(listener: (task: Task) => void): void {
    if (this.#state !== 'pending') return listener(this);
    if (!this.isAwaited) {
      this.isAwaited = true;
      this.progress.awaited++;
    }
    this.#listeners ??= [];
    this.#listeners.push(listener);
  }

  noteWait(_isCallback: boolean): void {
    this.progress.activeIn = this.progress.step;
  }

  noteSeen(): void {
    // Only events are counted: see EventTask.
  }

  complete(value: Payload): void {
    if (this.#state !== 'pending') return;
    this.#value = value;
    this.#settle('completed');
  }

  fail(failure: WorkflowFailure): void {
    if (this.#state !== 'pending') return;
    this.#failure = failure;
    this.progress.hasFailures = true;
    this.#settle('failed');
  }

  #settle(state: 'completed' | 'failed'): void {
    this.#state = state;
    if (this.isAwaited) this.progress.awaited--;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) listener(this);
  }
}

/** The known facts about the code between its waits. */
export interface CodeProgress {
  /** The pending tasks that the code waits for: code that waits for none and has not ended hangs. */
  awaited: number;
  /** How often something has woken the code. */
  step: number;
  /** The last step in which the code made a call or began to wait for a task. */
  activeIn: number;
  /** Whether a task has failed. */
  hasFailures: boolean;
}
