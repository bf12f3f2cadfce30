import { useSignal } from '@preact/signals';
import type { JobInfo } from '../../../api/jobs.ts';
import { count } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { link, param, params } from '../../core/router.ts';

import { Action, Actions, opens } from '../../ui/actions.tsx';

import { type Column, DataTable, Pager } from '../../ui/data-table.tsx';
import { Filters } from '../../ui/filters.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { JobState, LastRun } from './last-run.tsx';
import { ScheduleForm } from './schedule-form.tsx';

const COLUMNS: readonly Column<JobInfo>[] = [
  { name: 'name', title: 'Name', sortBy: ({ name }) => name, cell: ({ name }) => name },
  {
    name: 'schedule',
    title: 'Schedule',
    kind: 'mono',
    cell: ({ schedule, dueTime }) => schedule ?? `once, ${dueTime}`,
  },
  {
    name: 'next',
    title: 'Next run',
    sortBy: ({ nextRunAt = Number.MAX_VALUE }) => nextRunAt,
    cell: ({ nextRunAt, isPaused }) =>
      isPaused || nextRunAt === undefined ? <span class="dim">–</span> : <Ago at={nextRunAt} />,
  },
  {
    name: 'last',
    title: 'Last attempt',
    kind: 'wide',
    sortBy: ({ lastRun }) => lastRun?.endedAt ?? 0,
    cell: ({ lastRun }) => <LastRun of={lastRun} />,
  },
  { name: 'runs', title: 'Runs', kind: 'number', sortBy: ({ runs }) => runs, cell: ({ runs }) => count(runs) },
  { name: 'state', title: 'State', cell: (job) => <JobState of={job} /> },
];

/** The jobs of the application. */
export function JobList() {
  const isScheduling = useSignal(false);
  const poll = usePoll('jobs', params('prefix', 'cursor'));
  return (
    <Page
      title="Jobs"
      note="Of all processes that share the state. A job that has ended is gone."
      actions={
        <Actions>
          <Action tone="primary" run={opens(isScheduling)}>
            Schedule…
          </Action>
        </Actions>
      }
    >
      <Filters fields={[{ name: 'prefix', label: 'Name begins with' }]} />
      <Loaded of={poll}>
        {({ jobs, cursor }) => (
          <>
            <DataTable
              caption="Jobs"
              columns={COLUMNS}
              rows={jobs}
              rowKey={({ name }) => name}
              href={({ name }) => link(['jobs', name])}
              empty={
                <Empty title={param('prefix') === undefined ? 'No job is scheduled.' : 'No job has such a name.'} />
              }
            />
            <Pager cursor={cursor} />
          </>
        )}
      </Loaded>
      {isScheduling.value ? <ScheduleForm onClose={() => (isScheduling.value = false)} /> : null}
    </Page>
  );
}
