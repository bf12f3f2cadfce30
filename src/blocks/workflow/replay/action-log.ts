import type { ActionEvent } from '../model/events.ts';
import { ExpectedActions } from './expected-actions.ts';

/** What the code does: compared with the history while it is replayed, collected after that. */
export class ActionLog {
  #expected: ExpectedActions | undefined;
  #actions: ActionEvent[] = [];

  get isReplaying(): boolean {
    return this.#expected !== undefined;
  }

  /** A turn is replayed whose actions were these. */
  expect(actions: readonly ActionEvent[]): void {
    this.#expected = new ExpectedActions(actions);
  }

  /** What of the replayed turn the code has not done, in words. */
  missing(): string | undefined {
    return this.#expected?.missing();
  }

  /** The history is over. */
  live(): void {
    this.#expected = undefined;
  }

  /** The code does something; answers what is wrong with that, if something is. */
  add(action: Exclude<ActionEvent, { type: 'patched' }>): string | undefined {
    if (this.#expected !== undefined) return this.#expected.take(action);
    this.#actions.push(action);
    return undefined;
  }

  /** Whether the code has a patch: it has when this is new. */
  patch(name: string): boolean {
    if (this.#expected !== undefined) return this.#expected.hasPatch(name);
    this.#actions.push({ type: 'patched', name });
    return true;
  }

  /** Takes what was collected. */
  take(): readonly ActionEvent[] {
    const actions = this.#actions;
    this.#actions = [];
    return actions;
  }
}
