import type { HistoryEventInfo, WorkflowReply } from '../../../api/workflows.ts';
import { duration } from '../../core/format.ts';
import { param } from '../../core/router.ts';
import { type Column, DataTable, Pager } from '../../ui/data-table.tsx';
import { Drawer } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { Clock } from '../../ui/time.tsx';
import { EventData } from './event-data.tsx';

const COLUMNS: readonly Column<HistoryEventInfo>[] = [
  { name: 'index', title: 'No.', kind: 'number', cell: ({ index }) => index },
  { name: 'at', title: 'Time', cell: ({ at }) => <Clock at={at} /> },
  { name: 'type', title: 'Event', cell: ({ type }) => type },
  { name: 'name', title: 'Name', cell: ({ name, instanceId }) => name ?? instanceId },
  { name: 'sequence', title: 'Action', kind: 'number', cell: ({ sequence }) => sequence && `#${sequence}` },
  { name: 'attempt', title: 'Attempt', kind: 'number', cell: ({ attempt }) => attempt },
  {
    name: 'took',
    title: 'Took',
    kind: 'number',
    cell: ({ durationMs }) => (durationMs === undefined ? '' : duration(durationMs)),
  },
  { name: 'failure', title: 'Failure', kind: 'wide', cell: ({ failure }) => failure?.message },
];

/** More rows than these in one table make a page slow. */
const ROWS = 200;

/** The events one by one, as they are stored. */
export function HistoryTab({ reply: { instance, history } }: { readonly reply: WorkflowReply }) {
  const first = Number(param('cursor')) || 0;
  const next = first + ROWS;
  const open = history[Number(param('open'))];
  return (
    <>
      <DataTable
        caption="History"
        columns={COLUMNS}
        rows={history.slice(first, next)}
        rowKey={({ index }) => String(index)}
        empty={<Empty title="Nothing has happened yet." />}
      />
      <Pager cursor={next < history.length ? String(next) : undefined} />
      {open === undefined ? null : (
        <Drawer key={open.index} title={`${open.type} ${open.name ?? ''}`} note={`Event ${open.index}`}>
          <EventData instanceId={instance.instanceId} index={open.index} label="Data" />
        </Drawer>
      )}
    </>
  );
}
