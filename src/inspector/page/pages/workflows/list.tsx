import { useSignal } from '@preact/signals';
import type { WorkflowFilterBody, WorkflowsReply } from '../../../api/workflows.ts';
import { sinceOf } from '../../core/format.ts';
import { filled } from '../../core/input.ts';
import { usePoll } from '../../core/poll.ts';
import { link, param, params } from '../../core/router.ts';
import { now } from '../../core/visibility.ts';

import { Action, Actions, opens } from '../../ui/actions.tsx';

import { Outcome } from '../../ui/badge.tsx';
import { type Column, DataTable, Pager } from '../../ui/data-table.tsx';
import { type FilterSpec, Filters, SINCE_OPTIONS } from '../../ui/filters.tsx';
import { Page } from '../../ui/page.tsx';
import { useSelection } from '../../ui/selection.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { BulkActions } from './bulk.tsx';
import { missingIn } from './missing.ts';
import { StartForm } from './start-form.tsx';
import { Took } from './took.tsx';

type Instance = WorkflowsReply['instances'][number];

const NOT_OVER = 'PENDING,RUNNING,SUSPENDED';

const FILTERS: readonly FilterSpec[] = [
  {
    name: 'status',
    label: 'Status',
    options: [
      ['', 'any'],
      [NOT_OVER, 'not finished'],
      ...[...NOT_OVER.split(','), 'COMPLETED', 'FAILED', 'TERMINATED', 'CANCELED'].map(
        (status) => [status, status.toLowerCase()] as const,
      ),
    ],
  },
  { name: 'name', label: 'Workflow' },
  { name: 'prefix', label: 'ID begins with' },
  { name: 'since', label: 'Started', options: SINCE_OPTIONS },
  { name: 'parentId', label: 'Parent ID' },
];

const COLUMNS: readonly Column<Instance>[] = [
  { name: 'id', title: 'ID', kind: 'mono', cell: ({ instanceId }) => instanceId },
  { name: 'name', title: 'Workflow', sortBy: ({ name }) => name, cell: ({ name }) => name },
  { name: 'status', title: 'Status', sortBy: ({ status }) => status, cell: ({ status }) => <Outcome of={status} /> },
  {
    name: 'started',
    title: 'Started',
    sortBy: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <Ago at={createdAt} />,
  },
  {
    name: 'took',
    title: 'Took',
    kind: 'number',
    sortBy: ({ createdAt, lastUpdatedAt }) => lastUpdatedAt - createdAt,
    cell: (instance) => <Took of={instance} />,
  },
  { name: 'told', title: 'Failure or state', kind: 'wide', cell: whatItSays },
];

function whatItSays(instance: Instance) {
  const missing = missingIn(instance);
  return missing === undefined ? (instance.failure?.message ?? instance.customStatus) : `waits for the ${missing}`;
}

/** The filter that the query says; `undefined` if it says none: then all are meant. */
function filterOf(since: number | undefined): WorkflowFilterBody | undefined {
  const status = param('status')?.split(',') as WorkflowFilterBody['status'];
  const filter = filled({ ...params('name', 'prefix', 'parentId'), since, status });
  return Object.keys(filter).length === 0 ? undefined : filter;
}

/** Instances of workflows, the newest first, and what can be done to many of them. */
export function WorkflowList() {
  const selection = useSelection();
  const isStarting = useSignal(false);
  const since = sinceOf(param('since'), now.peek());
  const query = { ...params('status', 'name', 'prefix', 'parentId', 'cursor'), since, reverse: true };
  const poll = usePoll('workflows', query);
  const filter = filterOf(since);
  return (
    <Page
      title="Workflows"
      note="Of all processes that share the state, the last ID first: the sidecar numbers its own by their start."
      actions={
        <Actions>
          <Action tone="primary" run={opens(isStarting)}>
            Start…
          </Action>
        </Actions>
      }
    >
      <Filters fields={FILTERS} />
      <BulkActions selection={selection} filter={filter} refresh={poll.refresh} />
      <Loaded of={poll}>
        {({ instances, cursor }) => (
          <>
            <DataTable
              caption="Workflows"
              columns={COLUMNS}
              rows={instances}
              rowKey={({ instanceId }) => instanceId}
              href={({ instanceId }) => link(['workflows', instanceId])}
              selection={selection}
              hasMore={filter !== undefined && cursor !== undefined}
              empty={<NoInstances isFiltered={filter !== undefined} cursor={cursor} />}
            />
            <Pager cursor={cursor} />
          </>
        )}
      </Loaded>
      {isStarting.value ? <StartForm onClose={() => (isStarting.value = false)} /> : null}
    </Page>
  );
}

function NoInstances({ isFiltered, cursor }: { readonly isFiltered: boolean; readonly cursor: string | undefined }) {
  if (cursor !== undefined) return <Empty title="None among those looked at so far." />;
  return (
    <Empty title={isFiltered ? 'No workflow matches the filters.' : 'No workflow was started yet.'}>
      Register one with <code>sidecar.workflows.register</code>, then start it here or with <code>workflows.start</code>
      .
    </Empty>
  );
}
