import type { JobInfo } from '../../../api/jobs.ts';
import { Badge, Outcome } from '../../ui/badge.tsx';
import { Ago } from '../../ui/time.tsx';

/** How the last attempt ended. */
export function LastRun({ of }: { readonly of: JobInfo['lastRun'] }) {
  if (of === undefined) return <span class="dim">none yet</span>;
  const { endedAt, outcome, attempt, reason } = of;
  return (
    <>
      <Outcome of={outcome} /> <Ago at={endedAt} />
      {attempt > 1 ? `, attempt ${attempt}` : ''}
      {reason === undefined ? '' : `: ${reason}`}
    </>
  );
}

/** Whether it is paused, or has failed for good. */
export function JobState({
  of: { isPaused, keptUntilAt },
}: {
  readonly of: Pick<JobInfo, 'isPaused' | 'keptUntilAt'>;
}) {
  if (keptUntilAt !== undefined) return <Badge tone="bad">failed</Badge>;
  return isPaused ? <Badge tone="warn">paused</Badge> : <Badge tone="good">active</Badge>;
}
