import { describeAction } from '../model/event-table.ts';
import type { ActionEvent } from '../model/events.ts';

/** What the history has, and what the code does instead. */
export interface Mismatch {
  readonly history: string;
  readonly code: string;
}

/** The actions of a replayed turn, which the code must repeat. */
export class ExpectedActions {
  readonly #bySequence = new Map<number, ActionEvent>();
  readonly #patches = new Set<string>();
  readonly #isRerun: boolean;

  /** @param isRerun - the children may have other IDs than those that the code gives them now */
  constructor(actions: readonly ActionEvent[], isRerun: boolean) {
    this.#isRerun = isRerun;
    for (const action of actions) {
      if (action.type === 'patched') this.#patches.add(action.name);
      else this.#bySequence.set(action.sequence, action);
    }
  }

  /** Whether the history has a patch. */
  hasPatch(name: string): boolean {
    return this.#patches.delete(name);
  }

  /** Compares an action with the history; returns a description of the mismatch if there is one. */
  take(action: Exclude<ActionEvent, { type: 'patched' }>): string | undefined {
    const recorded = this.#bySequence.get(action.sequence);
    this.#bySequence.delete(action.sequence);
    const number = `action ${action.sequence}`;
    if (recorded === undefined)
      return `the code calls ${describeAction(action)} as ${number}, and the history has no such action at this point`;
    if (describeAction(recorded) === describeAction(action) || this.#isSameChild(recorded, action)) return undefined;
    return `the history has ${describeAction(recorded)} as ${number}, and the code calls ${describeAction(action)}`;
  }

  #isSameChild(recorded: ActionEvent, action: ActionEvent): boolean {
    if (!this.#isRerun || recorded.type !== 'childStarted' || action.type !== 'childStarted') return false;
    return recorded.name === action.name;
  }

  /** Describes an action that the code omitted, if any. */
  missing(): Mismatch | undefined {
    for (const action of this.#bySequence.values()) {
      const number = action.type === 'patched' ? '' : ` as action ${action.sequence}`;
      return { history: `${describeAction(action)}${number}`, code: 'does not call it at this point' };
    }
    for (const name of this.#patches)
      return { history: `the patch ${JSON.stringify(name)}`, code: 'does not ask for it at this point' };
    return undefined;
  }
}
