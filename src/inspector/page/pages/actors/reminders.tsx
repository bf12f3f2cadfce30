import type { ActorReminderInfo, ReminderBody } from '../../../api/actors.ts';
import { post } from '../../core/client.ts';
import { count } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { Action, Actions } from '../../ui/actions.tsx';
import { Outcome } from '../../ui/badge.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { closeDrawer, Drawer } from '../../ui/page.tsx';
import { Payload } from '../../ui/payload.tsx';
import { Facts, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';

/** The columns of reminders of one actor. */
export const REMINDER_COLUMNS: readonly Column<ActorReminderInfo>[] = [
  { name: 'name', title: 'Name', sortBy: ({ name }) => name, cell: ({ name }) => name },
  { name: 'period', title: 'Period', kind: 'mono', cell: ({ period }) => period ?? 'once' },
  {
    name: 'next',
    title: 'Next',
    sortBy: ({ nextRunAt }) => nextRunAt,
    cell: ({ nextRunAt }) => <Ago at={nextRunAt} />,
  },
  { name: 'runs', title: 'Runs', kind: 'number', sortBy: ({ runs }) => runs, cell: ({ runs }) => count(runs) },
  { name: 'last', title: 'Last attempt', cell: ({ lastRun }) => lastAttempt(lastRun) },
  { name: 'reason', title: 'Reason', kind: 'wide', cell: ({ lastRun }) => lastRun?.reason },
];

function lastAttempt(lastRun: ActorReminderInfo['lastRun']) {
  return (
    lastRun && (
      <>
        <Outcome of={lastRun.outcome} /> <Ago at={lastRun.endedAt} />
      </>
    )
  );
}

interface ReminderPanelProps {
  readonly of: ReminderBody;
  /** Something has changed. */
  readonly refresh: () => void;
}

/** A reminder in the side panel, and what can be done. */
export function ReminderPanel({ of, refresh }: ReminderPanelProps) {
  const poll = usePoll('actors/reminders/one', { ...of });
  const change = async (operation: 'run' | 'delete') => {
    const { changed } = await post(`actors/reminders/${operation}`, of);
    refresh();
    return changed;
  };
  return (
    <Drawer title={of.name} note={`Reminder of ${of.type} ${of.id}`}>
      <Actions label="Actions of this reminder">
        <Action
          tone="primary"
          run={async () => {
            const changed = await change('run');
            poll.refresh();
            return changed ? 'It runs now; its times stay as they are' : 'It was gone already';
          }}
        >
          Run now
        </Action>
        <Action
          tone="danger"
          confirm={{
            title: `Delete the reminder ${of.name}?`,
            body: 'It comes no more.',
            action: 'Delete',
            isDanger: true,
          }}
          run={async () => {
            const changed = await change('delete');
            closeDrawer();
            return `${of.name} ${changed ? 'was deleted' : 'was gone already'}`;
          }}
        >
          Delete…
        </Action>
      </Actions>
      <Loaded of={poll}>
        {({ reminder: { dueTime, period, repeats, ttl, nextRunAt, runs, lastRun }, data }) => (
          <>
            <Facts
              items={{
                'First call': dueTime,
                Period: period ?? 'once',
                Repeats: repeats,
                Ends: ttl,
                Next: <Ago at={nextRunAt} />,
                Runs: count(runs),
                'Last attempt': lastAttempt(lastRun),
                Reason: lastRun?.reason,
              }}
            />
            <h3>Data</h3>
            <Payload of={data} absent="It has no data." />
          </>
        )}
      </Loaded>
    </Drawer>
  );
}
