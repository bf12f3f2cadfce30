import type { ActionEvent } from '../model/events.ts';
import { ExpectedActions, type Mismatch } from './expected-actions.ts';

const NONE: readonly never[] = [];

/** The actions of the code: compared with the history during a replay, collected after it. */
export class ActionLog {
  readonly #isRerun: boolean;
  #expected: ExpectedActions | undefined;
  #actions: ActionEvent[] = [];

  constructor(isRerun: boolean) {
    this.#isRerun = isRerun;
  }

  get isReplaying(): boolean {
    return this.#expected !== undefined;
  }

  /** Sets the actions that the next replayed turn must repeat. */
  expect(actions: readonly ActionEvent[]): void {
    this.#expected = new ExpectedActions(actions, this.#isRerun);
  }

  /** Describes an action of the replayed turn that the code omitted. */
  missing(): Mismatch | undefined {
    return this.#expected?.missing();
  }

  /** Ends the replay: actions are collected from now on. */
  live(): void {
    this.#expected = undefined;
  }

  /** Records an action; returns the mismatch with the history if there is one. */
  add(action: Exclude<ActionEvent, { type: 'patched' }>): Mismatch | undefined {
    if (this.#expected !== undefined) return this.#expected.take(action);
    this.#actions.push(action);
    return undefined;
  }

  /** Whether the code takes a patch: it does if the turn is new or the history has the patch. */
  patch(name: string): boolean {
    if (this.#expected !== undefined) return this.#expected.hasPatch(name);
    this.#actions.push({ type: 'patched', name });
    return true;
  }

  /** Takes the collected actions. */
  take(): readonly ActionEvent[] {
    const actions = this.#actions;
    if (actions.length === 0) return NONE;
    this.#actions = [];
    return actions;
  }
}
