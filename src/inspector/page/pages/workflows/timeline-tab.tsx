import { useMemo } from 'preact/hooks';
import type { WorkflowReply } from '../../../api/workflows.ts';
import { plural } from '../../core/format.ts';
import { param, withQuery } from '../../core/router.ts';
import { now } from '../../core/visibility.ts';
import { Chart } from '../../timeline/chart.tsx';
import { isOver, type RowFilter, rowsLike, timelineOf } from '../../timeline/model.ts';
import { Empty, Notice } from '../../ui/states.tsx';
import { RowPanel } from './row-panel.tsx';

/** The history as bars over time, or as a table of the same. */
export function TimelineTab({ reply }: { readonly reply: WorkflowReply }) {
  const { instance, history, isHistoryCut } = reply;
  const timeline = useMemo(() => timelineOf(instance, history), [reply]);
  const filter = (param('rows') ?? 'all') as RowFilter;
  const rows = useMemo(() => rowsLike(timeline.rows, filter), [timeline, filter]);
  const open = timeline.rows.find(({ key }) => key === param('open'));
  return (
    <>
      {isHistoryCut ? <Notice tone="warn">Only the first {plural(history.length, 'event')} are shown.</Notice> : null}
      <div class="timeline-tools">
        <Choice label="Rows" name="rows" values={['all', 'failed', 'pending']} />
        <Choice label="View" name="view" values={['time', 'steps', 'table']} />
        <span class="dim">{plural(rows.length, 'row')}</span>
      </div>
      {rows.length === 0 ? (
        <Empty title={`Nothing is ${filter}.`} />
      ) : (
        <Chart timeline={timeline} rows={rows} now={isOver(instance.status) ? 0 : now.value} view={param('view')} />
      )}
      {open === undefined ? null : <RowPanel key={open.key} row={open} reply={reply} />}
    </>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly name: string;
  /** The first is the default. */
  readonly values: readonly string[];
}

/** Links of which one is chosen. */
function Choice({ label, name, values }: ChoiceProps) {
  const chosen = param(name) ?? values[0];
  return (
    <nav class="choice" aria-label={label}>
      <span class="dim">{label}</span>
      {values.map((value, at) => (
        <a
          key={value}
          href={withQuery({ [name]: at === 0 ? undefined : value }, { keepsView: true })}
          aria-current={value === chosen ? 'true' : undefined}
        >
          {value}
        </a>
      ))}
    </nav>
  );
}
