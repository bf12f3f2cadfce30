import type { JobReply } from '../../../api/jobs.ts';
import type { JobRecord } from '../../../api/live.ts';
import { post } from '../../core/client.ts';
import { count, duration, fullTime } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { link, navigate } from '../../core/router.ts';
import { Action, Actions } from '../../ui/actions.tsx';
import { Outcome } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Page, Section } from '../../ui/page.tsx';
import { Payload } from '../../ui/payload.tsx';
import { Empty, Facts, Loaded } from '../../ui/states.tsx';
import { Ago, Clock } from '../../ui/time.tsx';
import { JobState, LastRun } from './last-run.tsx';

const ATTEMPTS: readonly Column<JobRecord>[] = [
  { name: 'at', title: 'Began', cell: ({ at }) => <Clock at={at} /> },
  { name: 'due', title: 'Due', cell: ({ dueAt }) => <Clock at={dueAt} /> },
  { name: 'attempt', title: 'Attempt', kind: 'number', cell: ({ attempt }) => attempt },
  { name: 'outcome', title: 'Outcome', cell: ({ outcome }) => <Outcome of={outcome} /> },
  {
    name: 'took',
    title: 'Took',
    kind: 'number',
    cell: ({ durationMs }) => (durationMs === undefined ? '' : duration(durationMs)),
  },
  { name: 'reason', title: 'Reason', kind: 'wide', cell: ({ reason }) => reason },
];

/** A job: when it runs, how it went, and what can be done. */
export function JobDetail({ name }: { readonly name: string }) {
  const poll = usePoll('jobs/one', { name }, 2_000);
  return (
    <Page title={name} note="Job" actions={poll.data && <JobActions job={poll.data.job} refresh={poll.refresh} />}>
      <Loaded of={poll}>{(reply) => <About reply={reply} />}</Loaded>
    </Page>
  );
}

function About({ reply: { job, data, nextRuns, recent } }: { readonly reply: JobReply }) {
  return (
    <>
      <Facts
        items={{
          State: <JobState of={job} />,
          Schedule: job.schedule ?? 'once',
          'First run': job.dueTime,
          Repeats: job.repeats,
          Ends: job.ttl,
          Retries: retriesOf(job.retry),
          Runs: count(job.runs),
          ...instantsOf(job),
          'Last attempt': <LastRun of={job.lastRun} />,
        }}
      />
      <Section title={job.isPaused ? 'Next runs, were it not paused' : 'Next runs'}>
        {nextRuns.length === 0 ? (
          <p class="dim">{job.keptUntilAt === undefined ? 'None: it runs once.' : 'None: it has failed for good.'}</p>
        ) : (
          <ol class="instants">
            {nextRuns.map((at) => (
              <li key={at}>
                {fullTime(at)} <Ago at={at} />
              </li>
            ))}
          </ol>
        )}
      </Section>
      <Section title="Data">
        <Payload of={data} absent="It has no data." />
      </Section>
      <Section title="Recent attempts">
        <DataTable
          caption="Recent attempts"
          columns={ATTEMPTS}
          rows={recent}
          rowKey={({ key }) => key}
          isPlain
          empty={<Empty title="This process has seen none since somebody looks." />}
        />
      </Section>
    </>
  );
}

function instantsOf({ nextRunAt, isPaused, keptUntilAt }: JobReply['job']) {
  return {
    ...(nextRunAt !== undefined && { [isPaused ? 'Would run' : 'Next run']: <Ago at={nextRunAt} /> }),
    ...(keptUntilAt !== undefined && { 'Kept until': <Ago at={keptUntilAt} /> }),
  };
}

function retriesOf({ maxRetries, delayMs = 0, factor = 1 }: JobReply['job']['retry'] & object = DEFAULT): string {
  return `${maxRetries}, the first after ${delayMs / 1000} s${factor > 1 ? `, then ${factor} times as long` : ''}`;
}

const DEFAULT = { maxRetries: 3, delayMs: 1000 };

interface JobActionsProps {
  readonly job: JobReply['job'];
  readonly refresh: () => void;
}

function JobActions({ job: { name, isPaused }, refresh }: JobActionsProps) {
  const change = (operation: 'run' | 'pause' | 'resume', told: string) => async () => {
    const { changed } = await post(`jobs/${operation}`, { name });
    refresh();
    return changed ? told : 'Nothing has changed';
  };
  return (
    <Actions label="Actions of this job">
      <Action tone="primary" run={change('run', 'It runs now; its schedule stays as it is')}>
        Run now
      </Action>
      {isPaused ? (
        <Action run={change('resume', 'Resumed')}>Resume</Action>
      ) : (
        <Action run={change('pause', 'Paused on all hosts')}>Pause</Action>
      )}
      <Action
        tone="danger"
        confirm={{ title: `Delete the job ${name}?`, body: 'It runs no more.', action: 'Delete', isDanger: true }}
        run={async () => {
          const { changed } = await post('jobs/delete', { name });
          navigate(link('jobs'), { replace: true });
          return `${name} ${changed ? 'was deleted' : 'was gone already'}`;
        }}
      >
        Delete…
      </Action>
    </Actions>
  );
}
