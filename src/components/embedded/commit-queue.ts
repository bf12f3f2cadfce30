import type { CommitOutcome, GroupOutcome, PackedBatch, PackedGroup } from './protocol.ts';
import type { SqliteEngine } from './sqlite-engine.ts';

type Change = PackedBatch | PackedGroup;
type Outcome = CommitOutcome | GroupOutcome;

interface Waiting {
  readonly changes: readonly Change[];
  readonly answer: (outcomes: readonly Outcome[]) => void;
}

/**
 * Writes what all processes commit in one turn of the thread in one transaction, so that they share its sync. All that
 * comes while it is written is there in the next turn.
 */
export class CommitQueue {
  readonly #engine: SqliteEngine;
  /** Called after each transaction. */
  readonly #onWritten: () => void;
  #waiting: Waiting[] = [];

  constructor(engine: SqliteEngine, onWritten: () => void) {
    this.#engine = engine;
    this.#onWritten = onWritten;
  }

  /** Commits changes; `answer` gets their outcomes in order. */
  add(changes: readonly Change[], answer: (outcomes: readonly Outcome[]) => void): void {
    if (this.#waiting.push({ changes, answer }) === 1) setImmediate(() => this.flush());
  }

  /** Writes what waits, before anything that has to come after it. */
  flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    const outcomes = this.#engine.commitTogether(waiting.flatMap(({ changes }) => changes));
    let from = 0;
    for (const { changes, answer } of waiting) {
      answer(outcomes.slice(from, from + changes.length));
      from += changes.length;
    }
    this.#onWritten();
  }
}
