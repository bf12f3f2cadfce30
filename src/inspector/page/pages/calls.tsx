import type { CallRecord } from '../../api/live.ts';
import { duration } from '../core/format.ts';
import { useRecordList } from '../core/record-list.ts';
import { params } from '../core/router.ts';
import { Status } from '../ui/badge.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { type FilterSpec, Filters } from '../ui/filters.tsx';
import { Page } from '../ui/page.tsx';
import { MoreRecords, RecordNote } from '../ui/record-status.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Clock } from '../ui/time.tsx';
import { Trace } from '../ui/trace.tsx';

const FILTERS: readonly FilterSpec[] = [
  { name: 'target', label: 'Target' },
  {
    name: 'status',
    label: 'Status',
    options: [
      ['', 'any'],
      ['2xx', '2xx'],
      ['3xx', '3xx'],
      ['4xx', '4xx'],
      ['5xx', '5xx'],
      ['0', 'no response'],
    ],
  },
  { name: 'text', label: 'Text' },
];

const COLUMNS: readonly Column<CallRecord>[] = [
  { name: 'at', title: 'Time', cell: ({ at }) => <Clock at={at} /> },
  { name: 'direction', title: 'Way', cell: ({ direction }) => (direction === 'out' ? '→ out' : '← in') },
  { name: 'target', title: 'Target', cell: ({ target }) => target, kind: 'mono' },
  { name: 'path', title: 'Method and path', cell: (call) => <Path of={call} />, kind: 'wide' },
  { name: 'status', title: 'Status', cell: ({ status }) => <Status of={status} /> },
  { name: 'attempts', title: 'Attempts', cell: ({ attempts }) => attempts, kind: 'number' },
  {
    name: 'took',
    title: 'Took',
    cell: ({ durationMs }) => (durationMs === undefined ? '–' : duration(durationMs)),
    kind: 'number',
  },
  { name: 'trace', title: 'Trace', cell: ({ traceparent }) => <Trace of={traceparent} />, kind: 'mono' },
];

function Path({ of: { method, path } }: { readonly of: CallRecord }) {
  return (
    <code title={path}>
      <strong>{method}</strong> {path}
    </code>
  );
}

/** Calls of other applications and services, and those that came in. */
export function Calls() {
  const { rows, reply, showMore } = useRecordList('calls', params('target', 'status', 'text'));
  return (
    <Page title="Calls" note={<RecordNote reply={reply.data} />}>
      <Filters fields={FILTERS} />
      <Loaded of={reply}>
        {() => (
          <DataTable
            caption="Calls, the newest first"
            columns={COLUMNS}
            rows={rows}
            rowKey={({ key }) => key}
            isPlain
            empty={
              <Empty title="No call has been seen.">
                Calls of other applications through the sidecar appear here, and those of others that come in.
              </Empty>
            }
          />
        )}
      </Loaded>
      <MoreRecords rows={rows.length} showMore={showMore} />
    </Page>
  );
}
