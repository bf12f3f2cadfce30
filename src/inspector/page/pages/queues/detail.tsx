import type { InspectedQueue, QueuedMessage, QueueRef } from '../../../api/queues.ts';
import { bytes, count, plural } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { param, params } from '../../core/router.ts';
import { type Column, DataTable, Pager } from '../../ui/data-table.tsx';
import { currentTab, Page, Tabs } from '../../ui/page.tsx';
import { useSelection } from '../../ui/selection.tsx';
import { Empty, Facts, Loaded, Notice } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { nameOf } from './links.ts';
import { QueueMarks } from './list.tsx';
import { MessageActions } from './message-actions.tsx';
import { MessagePanel } from './message-panel.tsx';
import { QueueActions } from './queue-actions.tsx';

const COLUMNS: readonly Column<QueuedMessage>[] = [
  { name: 'id', title: 'ID', kind: 'mono', cell: ({ messageId }) => messageId },
  { name: 'at', title: 'Published', cell: ({ at }) => <Ago at={at} /> },
  { name: 'attempts', title: 'Attempts', kind: 'number', cell: ({ attempts }) => attempts },
  { name: 'due', title: 'Due', cell: ({ dueAt }) => <Ago at={dueAt} /> },
  { name: 'size', title: 'Size', kind: 'number', cell: ({ payload }) => bytes(payload.bytes) },
  {
    name: 'data',
    title: 'Data',
    kind: 'wide',
    cell: ({ payload }) => <code class="one-line">{payload.value.slice(0, 200)}</code>,
  },
];

/** A queue: what waits in it, and what can be done. */
export function QueueDetail({ queue }: { readonly queue: QueueRef }) {
  const { pubsubName, topic, group } = queue;
  const poll = usePoll('queues', { pubsubName, topic });
  const info = poll.data?.queues.find((one) => one.group === group);
  return (
    <Page
      title={nameOf(queue)}
      note={<>Queue of {pubsubName}</>}
      actions={info && <QueueActions queue={info} refresh={poll.refresh} />}
    >
      <Loaded of={poll}>
        {() =>
          info === undefined ? (
            <Empty title={`There is no group ${group} of ${topic}.`} />
          ) : (
            <Contents queue={info} refreshQueue={poll.refresh} />
          )
        }
      </Loaded>
    </Page>
  );
}

interface ContentsProps {
  readonly queue: InspectedQueue;
  readonly refreshQueue: () => void;
}

function Contents({ queue, refreshQueue }: ContentsProps) {
  const { pubsubName, topic, group, ready, delayed, inFlight, isCapped, consumers, hostId, oldestAt, isAbandoned } =
    queue;
  const tabs = [
    ['ready', `Ready ${count(ready, isCapped)}`],
    ['delayed', `Delayed ${count(delayed)}`],
    ['inFlight', `In flight ${count(inFlight)}`],
  ] as const;
  const state = currentTab(tabs);
  const selection = useSelection();
  const poll = usePoll('queues/messages', { pubsubName, topic, group, state, ...params('cursor', 'reverse') });
  const keys = selection.keys.value;
  const refresh = () => {
    poll.refresh();
    refreshQueue();
  };
  const open = param('open');
  return (
    <>
      {isAbandoned ? (
        <Notice tone="warn">
          Nobody is known to read this queue: it grows until its group is removed, or subscribed to.
        </Notice>
      ) : null}
      <Facts
        items={{
          State: <QueueMarks of={queue} />,
          Oldest: <Ago at={oldestAt} />,
          'Consumers here': consumers,
          'Handed out by': hostId,
        }}
      />
      <Tabs label="Messages by state" tabs={tabs} />
      {state === 'inFlight' ? null : (
        <MessageActions
          parts={keys.size === 0 ? [] : [{ queue: { pubsubName, topic, group }, selection: [...keys] }]}
          what={plural(keys.size, 'message')}
          haveOrigins={(poll.data?.messages ?? []).every(
            ({ key, deadLetter }) => !keys.has(key) || deadLetter !== undefined,
          )}
          onDone={() => {
            selection.clear();
            refresh();
          }}
        />
      )}
      <Loaded of={poll}>
        {({ messages, cursor }) => (
          <>
            <DataTable
              caption={`Messages of ${nameOf(queue)}`}
              columns={COLUMNS}
              rows={messages}
              rowKey={({ key }) => key}
              selection={state === 'inFlight' ? undefined : selection}
              empty={<Empty title={cursor === undefined ? 'None.' : 'None among those looked at so far.'} />}
            />
            <Pager cursor={cursor} />
          </>
        )}
      </Loaded>
      {open && <MessagePanel key={open} queue={queue} messageKey={open} state={state} onDone={refresh} />}
    </>
  );
}
