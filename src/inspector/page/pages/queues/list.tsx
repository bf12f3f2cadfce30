import { useSignal } from '@preact/signals';
import type { InspectedQueue } from '../../../api/queues.ts';
import { post } from '../../core/client.ts';
import { count } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { navigate, params } from '../../core/router.ts';

import { Action, Actions, opens } from '../../ui/actions.tsx';

import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Filters } from '../../ui/filters.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Loaded, Notice } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { linkToQueue, nameOf } from './links.ts';

const depthOf = ({ ready, delayed, inFlight }: InspectedQueue): number => ready + delayed + inFlight;

const COLUMNS: readonly Column<InspectedQueue>[] = [
  { name: 'name', title: 'Topic → group', sortBy: ({ topic, group }) => `${topic} ${group}`, cell: nameOf },
  { name: 'pubsub', title: 'Component', sortBy: ({ pubsubName }) => pubsubName, cell: ({ pubsubName }) => pubsubName },
  {
    name: 'ready',
    title: 'Ready',
    kind: 'number',
    sortBy: ({ ready }) => ready,
    cell: ({ ready, isCapped }) => count(ready, isCapped),
  },
  {
    name: 'delayed',
    title: 'Delayed',
    kind: 'number',
    sortBy: ({ delayed }) => delayed,
    cell: ({ delayed }) => count(delayed),
  },
  {
    name: 'flight',
    title: 'In flight',
    kind: 'number',
    sortBy: ({ inFlight }) => inFlight,
    cell: ({ inFlight }) => count(inFlight),
  },
  {
    name: 'oldest',
    title: 'Oldest',
    sortBy: ({ oldestAt = Number.POSITIVE_INFINITY }) => oldestAt,
    cell: ({ oldestAt }) => <Ago at={oldestAt} />,
  },
  {
    name: 'consumers',
    title: 'Consumers',
    kind: 'number',
    sortBy: ({ consumers }) => consumers,
    cell: ({ consumers }) => (consumers === 0 ? <span class="dim">none here</span> : consumers),
  },
  { name: 'state', title: 'State', kind: 'wide', cell: (queue) => <QueueMarks of={queue} /> },
  {
    name: 'host',
    title: 'Host',
    kind: 'mono',
    cell: ({ hostId }) => <span title={hostId}>{hostId?.slice(0, 8)}</span>,
  },
];

/** The facts about a queue at a glance. */
export function QueueMarks({ of: { isPaused, isAbandoned, isDeadLetter } }: { readonly of: InspectedQueue }) {
  return (
    <>
      {isPaused ? <Badge tone="warn">paused</Badge> : null}{' '}
      {isAbandoned ? (
        <Badge tone="bad" title="Nobody is known to read it: it grows until it is removed.">
          abandoned
        </Badge>
      ) : null}{' '}
      {isDeadLetter ? <Badge tone="idle">dead letters</Badge> : null}
      {isPaused || isAbandoned || isDeadLetter ? null : <Badge tone="good">active</Badge>}
    </>
  );
}

/** The deepest first. */
export function QueueList() {
  const isAdding = useSignal(false);
  const poll = usePoll('queues', params('pubsubName', 'topic'));
  return (
    <Page
      title="Queues"
      note="Of all processes that share the state: what waits for each group of a topic. Consumers and messages in flight are those of this process."
      actions={
        <Actions>
          <Action run={opens(isAdding)}>Add group…</Action>
        </Actions>
      }
    >
      <Filters
        fields={[
          { name: 'topic', label: 'Topic' },
          { name: 'pubsubName', label: 'Component' },
        ]}
      />
      <Loaded of={poll}>
        {({ queues, unsupported }) => (
          <>
            {unsupported.length === 0 ? null : (
              <Notice tone="warn">
                Not shown, because these components give no access to their queues: {unsupported.join(', ')}.
              </Notice>
            )}
            <DataTable
              caption="Queues"
              columns={COLUMNS}
              rows={[...queues].sort((a, b) => depthOf(b) - depthOf(a))}
              rowKey={({ pubsubName, topic, group }) => `${pubsubName}/${topic}/${group}`}
              href={linkToQueue}
              empty={<Empty title="There are no queues.">A group has one from its first subscription on.</Empty>}
            />
          </>
        )}
      </Loaded>
      {isAdding.value ? (
        <AddGroup pubsubName={poll.data?.queues[0]?.pubsubName ?? ''} onClose={() => (isAdding.value = false)} />
      ) : null}
    </Page>
  );
}

function AddGroup({ pubsubName, onClose }: { readonly pubsubName: string; readonly onClose: () => void }) {
  return (
    <FormDialog
      title="Add a group"
      action="Add"
      onClose={onClose}
      fields={[
        { name: 'pubsubName', label: 'Component', value: pubsubName, isRequired: true },
        { name: 'topic', label: 'Topic', isRequired: true },
        {
          name: 'group',
          label: 'Group',
          isRequired: true,
          hint: 'The app ID, or the app ID, a slash and a name: shop/audit.',
        },
      ]}
      submit={async ({ pubsubName: component = '', topic = '', group = '' }) => {
        const queue = { pubsubName: component.trim(), topic: topic.trim(), group: group.trim() };
        const { changed } = await post('queues/add-group', { queue });
        navigate(linkToQueue(queue));
        return changed ? `${nameOf(queue)} collects messages from now on` : `${nameOf(queue)} exists already`;
      }}
    >
      <p>It collects the messages of its topic from now on, without a subscription.</p>
    </FormDialog>
  );
}
