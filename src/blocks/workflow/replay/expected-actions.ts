import { describeAction } from '../model/event-table.ts';
import type { ActionEvent } from '../model/events.ts';

/** The action in the history, and the one of the code. */
export interface Mismatch {
  readonly history: string;
  readonly code: string;
  /** The patch in front of it that the code has not asked for: newer code has written the history from there on. */
  readonly patch: string | undefined;
}

/** The actions of a replayed turn, which the code must repeat. */
export class ExpectedActions {
  readonly #bySequence = new Map<number, ActionEvent>();
  /** The patches that the code has not asked for, in order, each with the number of the last action before it. */
  readonly #patches = new Map<string, number>();
  readonly #isRerun: boolean;

  /** @param isRerun - the children may have other IDs than those that the code gives them now */
  constructor(actions: readonly ActionEvent[], isRerun: boolean) {
    this.#isRerun = isRerun;
    let last = 0;
    for (const action of actions) {
      if (action.type === 'patched') this.#patches.set(action.name, last);
      else {
        last = action.sequence;
        this.#bySequence.set(last, action);
      }
    }
  }

  /** Whether the history has a patch. */
  hasPatch(name: string): boolean {
    return this.#patches.delete(name);
  }

  /** Compares an action with the history; returns the mismatch if there is one. */
  take(action: Exclude<ActionEvent, { type: 'patched' }>): Mismatch | undefined {
    const recorded = this.#bySequence.get(action.sequence);
    this.#bySequence.delete(action.sequence);
    const number = `action ${action.sequence}`;
    const patch = this.#patchBefore(action.sequence);
    const code = `calls ${describeAction(action)}`;
    if (recorded === undefined)
      return { history: `${hasFirst(patch)}no ${number} at this point`, code: `${code} as ${number}`, patch };
    if (describeAction(recorded) === describeAction(action) || this.#isSameChild(recorded, action)) return undefined;
    return { history: `${hasFirst(patch)}${describeAction(recorded)} as ${number}`, code, patch };
  }

  #patchBefore(sequence: number): string | undefined {
    for (const [name, last] of this.#patches) if (last < sequence) return name;
    return undefined;
  }

  #isSameChild(recorded: ActionEvent, action: ActionEvent): boolean {
    if (!this.#isRerun || recorded.type !== 'childStarted' || action.type !== 'childStarted') return false;
    return recorded.name === action.name;
  }

  /** The first action or patch that the code omitted, if any. */
  missing(): Mismatch | undefined {
    for (const [sequence, action] of this.#bySequence) {
      const patch = this.#patchBefore(sequence);
      const history = `${hasFirst(patch)}${describeAction(action)} as action ${sequence}`;
      return { history, code: 'does not call it at this point', patch };
    }
    for (const patch of this.#patches.keys())
      return { history: `the history has ${named(patch)}`, code: 'does not ask for it at this point', patch };
    return undefined;
  }
}

/** The history has a patch in front of something else, or that alone. */
function hasFirst(patch: string | undefined): string {
  return `the history has ${patch === undefined ? '' : `${named(patch)} and then `}`;
}

function named(patch: string): string {
  return `the patch ${JSON.stringify(patch)}`;
}
