import type { AttemptRecord } from '../../api/live.ts';
import { duration, plural } from '../core/format.ts';
import { Outcome } from './badge.tsx';
import { Clock } from './time.tsx';

const MARKS: Readonly<Record<string, string>> = { delivering: '…', delivered: '✓', unsettled: '?' };

const SHOWN = 5;

/** `✗503 ✗503 ✓`: the last attempts in short. */
export function AttemptMarks({ of }: { readonly of: readonly AttemptRecord[] }) {
  if (of.length === 0) return <span class="dim">–</span>;
  return (
    <span class="marks">
      <span class="unseen">{plural(of.length, 'attempt')}</span>
      <span aria-hidden="true">
        {of.length > SHOWN ? '… ' : ''}
        {of.slice(-SHOWN).map(({ attempt, outcome, reason }) => (
          <span key={attempt} class={outcome} title={reason}>
            {MARKS[outcome] ?? '✗'}
            {statusIn(reason)}{' '}
          </span>
        ))}
      </span>
    </span>
  );
}

/** The HTTP status in a reason. */
function statusIn(reason: string | undefined): string {
  return /\b[1-5]\d\d\b/.exec(reason ?? '')?.[0] ?? '';
}

/** All attempts that are kept, one in a row. */
export function AttemptTable({ of }: { readonly of: readonly AttemptRecord[] }) {
  if (of.length === 0) return <p class="dim">It was published; no group of this process has got it yet.</p>;
  return (
    <ol class="attempts">
      {of.map(({ attempt, at, durationMs, outcome, reason }) => (
        <li key={attempt}>
          <span class="dim">{attempt}</span>
          <Clock at={at} />
          <Outcome of={outcome} />
          <span class="dim">{durationMs === undefined ? 'running' : duration(durationMs)}</span>
          {reason === undefined ? null : <p>{reason}</p>}
        </li>
      ))}
    </ol>
  );
}
