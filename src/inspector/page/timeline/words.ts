import { duration } from '../core/format.ts';
import type { Bar, Outcome, Row } from './model.ts';

/** The mark of an outcome: the same as in lists. */
const MARKS: Readonly<Record<Outcome, string>> = { done: '✓', failed: '✗', pending: '→ pending', unfinished: '–' };

/** How a row ended, and how long it took from its first bar on: `✗ 3× 1.2 s`. */
export function tookOf({ state, attempts, bars: [first, ...others] }: Row): string {
  const end = [first, ...others].reduce((last, bar) => Math.max(last, bar?.to ?? last), 0);
  const took = state === 'pending' || first?.kind === 'instant' ? '' : duration(end - (first?.from ?? end));
  return `${MARKS[state]} ${attempts > 1 ? `${attempts}× ` : ''}${took}`;
}

/** A bar in words: `attempt 2 failed, 12 ms`. */
export function barInWords({ kind, attempt, outcome, from, to }: Bar): string {
  const what = attempt === undefined ? (kind === 'run' ? '' : `${kind} `) : `attempt ${attempt} `;
  if (kind === 'instant') return outcome;
  return `${what}${kind === 'wait' ? '' : outcome}${to === undefined ? '' : `, ${duration(to - from)}`}`.replace(
    ' ,',
    '',
  );
}
