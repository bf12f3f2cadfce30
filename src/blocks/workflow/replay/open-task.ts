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
  readonly #awaited: AwaitedTasks;

  constructor(what: string, sequence: number, awaited: AwaitedTasks) {
    this.what = what;
    this.sequence = sequence;
    this.#awaited = awaited;
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
      this.#awaited.count++;
    }
    this.#listeners ??= [];
    this.#listeners.push(listener);
  }

  complete(value: Payload): void {
    if (this.#state !== 'pending') return;
    this.#value = value;
    this.#settle('completed');
  }

  fail(failure: WorkflowFailure): void {
    if (this.#state !== 'pending') return;
    this.#failure = failure;
    this.#settle('failed');
  }

  #settle(state: 'completed' | 'failed'): void {
    this.#state = state;
    if (this.isAwaited) this.#awaited.count--;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) listener(this);
  }
}

/** Counts the pending tasks that the code waits for: code that waits for none and has not ended hangs. */
export interface AwaitedTasks {
  count: number;
}
