import type { Drain } from './microtask-drain.ts';
import type { Run } from './run.ts';

/**
 * Lets the code of a run that something has woken run until it waits again, or has ended. Events that were there before
 * their waits complete them one at a time: the code runs after each of them, as if it had come now.
 */
export function runCode(run: Run, drain: Drain): Promise<void> {
  return new Promise((resolve) => {
    const drained = (): void => {
      run.isInTurn = run.completeNextWait();
      if (run.isInTurn) return drain.onDrained(drained);
      if (run.outcome === undefined && run.progress.awaited === 0) run.hangs();
      resolve();
    };
    drain.onDrained(drained);
  });
}
