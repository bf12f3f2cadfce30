import { useSignal } from '@preact/signals';
import type { HistoryEventInfo, WorkflowReply } from '../../../api/workflows.ts';
import { post } from '../../core/client.ts';
import { link, navigate } from '../../core/router.ts';
import { type Bar, isOver, type Row } from '../../timeline/model.ts';
import { barInWords } from '../../timeline/words.ts';
import { Action, Actions } from '../../ui/actions.tsx';
import { Drawer } from '../../ui/page.tsx';
import { Facts } from '../../ui/states.tsx';
import { Ago, Clock } from '../../ui/time.tsx';
import { EventData } from './event-data.tsx';
import { InstanceLink } from './instance-link.tsx';

interface RowPanelProps {
  readonly row: Row;
  readonly reply: WorkflowReply;
}

/** The details of an action: its attempts with their inputs and outputs. */
export function RowPanel({
  row: { kind, name, sequence, state, bars, instanceId: child, dueAt },
  reply,
}: RowPanelProps) {
  const { instanceId, status } = reply.instance;
  const parts = bars.filter((bar) => bar.kind !== 'wait');
  return (
    <Drawer title={name} note={`${kind} ${sequence === undefined ? '' : `#${sequence} `}· ${state}`}>
      {sequence !== undefined && isOver(status) ? <RerunHere instanceId={instanceId} sequence={sequence} /> : null}
      <Facts
        items={{
          Instance: child && <InstanceLink id={child} mark="↓" />,
          Due: dueAt && <Ago at={dueAt} />,
        }}
      />
      {parts.map((bar, at) => (
        <BarPanel
          key={bar.from}
          bar={bar}
          events={bar.events.flatMap((index) => reply.history[index] ?? [])}
          instanceId={instanceId}
          isLast={at === parts.length - 1}
        />
      ))}
    </Drawer>
  );
}

interface BarPanelProps {
  readonly bar: Bar;
  readonly events: readonly HistoryEventInfo[];
  readonly instanceId: string;
  readonly isLast: boolean;
}

/** Data is asked for when the part is opened, as the last one is at first: there may be hundreds of attempts. */
function BarPanel({ bar, events, instanceId, isLast }: BarPanelProps) {
  const isOpen = useSignal(isLast);
  return (
    <details class="attempt" open={isLast} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <Clock at={bar.from} /> {barInWords(bar)}
      </summary>
      {isOpen.value
        ? events.map(({ index, type }) => (
            <EventData key={index} instanceId={instanceId} index={index} label={LABELS[type] ?? 'Data'} />
          ))
        : null}
    </details>
  );
}

const LABELS: Readonly<Partial<Record<HistoryEventInfo['type'], string>>> = {
  started: 'Input',
  activityScheduled: 'Input',
  childStarted: 'Input',
  activityCompleted: 'Output',
  childCompleted: 'Output',
  terminated: 'Output',
};

function RerunHere({ instanceId, sequence }: { readonly instanceId: string; readonly sequence: number }) {
  return (
    <Actions label="Actions of this row">
      <Action
        confirm={{
          title: `Run again from #${sequence}?`,
          body: 'A new instance begins before the turn that made this action: earlier results are kept, later work is done again.',
          action: 'Run again',
        }}
        run={async () => {
          const { instanceId: id } = await post('workflows/rerun', { instanceId, from: sequence });
          navigate(link(['workflows', id]));
          return `${id} was started`;
        }}
      >
        Run again from here…
      </Action>
    </Actions>
  );
}
