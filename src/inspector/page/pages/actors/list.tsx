import type { ActiveActorInfo, ActorReminderInfo, ActorsReply } from '../../../api/actors.ts';
import { count, plural } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { link, param, params } from '../../core/router.ts';
import { type Column, DataTable, Pager } from '../../ui/data-table.tsx';
import { Filters } from '../../ui/filters.tsx';
import { currentTab, Page, Tabs } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { REMINDER_COLUMNS } from './reminders.tsx';

const TABS = [
  ['active', 'Active'],
  ['reminders', 'Reminders'],
] as const;

const TYPE: Column<{ readonly actorType: string }> = {
  name: 'type',
  title: 'Type',
  sortBy: ({ actorType }) => actorType,
  cell: ({ actorType }) => actorType,
};

const ACTIVE: readonly Column<ActiveActorInfo>[] = [
  { name: 'id', title: 'ID', kind: 'mono', sortBy: ({ actorId }) => actorId, cell: ({ actorId }) => actorId },
  TYPE,
  { name: 'calls', title: 'Calls', kind: 'number', sortBy: ({ calls }) => calls, cell: ({ calls }) => count(calls) },
  {
    name: 'waiting',
    title: 'Waiting',
    kind: 'number',
    sortBy: ({ waiting }) => waiting,
    cell: ({ waiting }) => count(waiting),
  },
];

const REMINDERS: readonly Column<ActorReminderInfo>[] = [
  ...REMINDER_COLUMNS,
  TYPE,
  { name: 'id', title: 'ID', kind: 'mono', sortBy: ({ actorId }) => actorId, cell: ({ actorId }) => actorId },
];

/** The active actors of the process, and the reminders of all actors. */
export function ActorList() {
  const poll = usePoll('actors', params('type'));
  const types = poll.data?.types ?? [];
  const options = types.map(({ actorType, active }) => [actorType, `${actorType}, ${count(active)} active`] as const);
  return (
    <Page title="Actors" note="Active are those of this process; reminders are those of all processes.">
      <Tabs label="Actors" tabs={TABS} />
      <Filters fields={[{ name: 'type', label: 'Type', options: [['', 'all'], ...options] }]} />
      {currentTab(TABS) === 'active' ? <Loaded of={poll}>{(reply) => <Active of={reply} />}</Loaded> : <Reminders />}
    </Page>
  );
}

function Active({ of: { actors, more, types } }: { readonly of: ActorsReply }) {
  return (
    <>
      <DataTable
        caption="Active actors"
        columns={ACTIVE}
        rows={actors}
        rowKey={({ actorType, actorId }) => `${actorType}/${actorId}`}
        href={({ actorType, actorId }) => link(['actors', actorType, actorId])}
        empty={<Empty title={types.length === 0 ? 'This process hosts no actors.' : 'No actor is active.'} />}
      />
      {more > 0 && <p class="dim">And {plural(more, 'more idle actor')}.</p>}
    </>
  );
}

function Reminders() {
  const poll = usePoll('actors/reminders', params('type', 'cursor'));
  return (
    <Loaded of={poll}>
      {({ reminders, cursor }) => (
        <>
          <DataTable
            caption="Reminders"
            columns={REMINDERS}
            rows={reminders}
            rowKey={({ actorType, actorId, name }) => `${actorType}/${actorId}/${name}`}
            href={({ actorType, actorId, name }) => link(['actors', actorType, actorId], { open: name })}
            empty={
              <Empty
                title={
                  param('type') === undefined || cursor === undefined
                    ? 'There are no reminders.'
                    : 'None among those looked at so far.'
                }
              />
            }
          />
          <Pager cursor={cursor} />
        </>
      )}
    </Loaded>
  );
}
