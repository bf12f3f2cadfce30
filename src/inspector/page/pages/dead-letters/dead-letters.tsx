import type { DeadLetter, DeadLetterFilter, DeadLettersReply, DiscardBody } from '../../../api/queues.ts';
import { plural, sinceOf } from '../../core/format.ts';
import { filled } from '../../core/input.ts';
import { usePoll } from '../../core/poll.ts';
import { param } from '../../core/router.ts';
import { now } from '../../core/visibility.ts';
import { type Column, DataTable, Pager } from '../../ui/data-table.tsx';
import { type FilterSpec, Filters, SINCE_OPTIONS } from '../../ui/filters.tsx';
import { Page } from '../../ui/page.tsx';
import { useSelection } from '../../ui/selection.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { nameOf } from '../queues/links.ts';
import { MessageActions } from '../queues/message-actions.tsx';
import { MessagePanel } from '../queues/message-panel.tsx';
import { keyOf, partsOf, placeOf } from './place.ts';

const COLUMNS: readonly Column<DeadLetter>[] = [
  {
    name: 'when',
    title: 'When',
    sortBy: ({ deadLetter }) => deadLetter?.deadAt ?? 0,
    cell: ({ deadLetter, at }) => <Ago at={deadLetter?.deadAt ?? at} />,
  },
  {
    name: 'from',
    title: 'From',
    sortBy: ({ deadLetter }) => deadLetter?.topic ?? '',
    cell: ({ deadLetter }) => (deadLetter === undefined ? <span class="dim">not known</span> : nameOf(deadLetter)),
  },
  {
    name: 'reason',
    title: 'Reason',
    kind: 'wide',
    sortBy: ({ deadLetter }) => deadLetter?.reason ?? '',
    cell: ({ deadLetter }) => deadLetter?.reason,
  },
  {
    name: 'attempts',
    title: 'Attempts',
    kind: 'number',
    cell: ({ deadLetter, attempts }) => deadLetter?.attempts ?? attempts,
  },
  { name: 'queue', title: 'Kept in', sortBy: ({ queue }) => queue.topic, cell: ({ queue }) => queue.topic },
  { name: 'id', title: 'ID', kind: 'mono', cell: ({ messageId }) => messageId },
];

function filtersOf(reply: DeadLettersReply | undefined): readonly FilterSpec[] {
  const topics = new Set([...(reply?.queues ?? []).map(({ topic }) => topic), param('topic')]);
  const known = [...topics].filter((topic) => topic !== undefined);
  return [
    { name: 'topic', label: 'Kept in', options: [['', 'any topic'], ...known.map((topic) => [topic, topic] as const)] },
    { name: 'fromTopic', label: 'From topic' },
    { name: 'fromGroup', label: 'From group' },
    { name: 'reason', label: 'Reason has' },
    { name: 'since', label: 'When', options: SINCE_OPTIONS },
  ];
}

const NAMES = ['fromTopic', 'fromGroup', 'reason', 'topic', 'pubsubName', 'cursor'] as const;

/** Messages that could not be processed, and why. */
export function DeadLetters() {
  const selection = useSelection();
  const [fromTopic, fromGroup, reason, topic, pubsubName, at] = NAMES.map(param);
  const since = sinceOf(param('since'), now.peek());
  const filter = filled({ topic: fromTopic, group: fromGroup, reason, since });
  const poll = usePoll('dead-letters', { fromTopic, fromGroup, reason, since, topic, pubsubName, cursor: at });
  const key = param('open');
  const open = placeOf(key ?? '');
  const { isAll, keys, clear } = selection;
  return (
    <Page title="Dead letters" note={poll.data && totalOf(poll.data)}>
      <Filters fields={filtersOf(poll.data)} />
      <MessageActions
        parts={isAll.value ? allOf(poll.isStale ? undefined : poll.data, filter) : partsOf(keys.value)}
        what={isAll.value ? 'all that match' : plural(keys.value.size, 'dead letter')}
        haveOrigins
        onDone={() => {
          clear();
          poll.refresh();
        }}
      />
      <Loaded of={poll}>
        {({ messages, cursor }) => (
          <>
            <DataTable
              caption="Dead letters"
              columns={COLUMNS}
              rows={messages}
              rowKey={keyOf}
              selection={selection}
              hasMore={cursor !== undefined}
              empty={<Nothing isFiltered={Object.keys(filled({ ...filter, topic, pubsubName })).length > 0} />}
            />
            <Pager cursor={cursor} />
          </>
        )}
      </Loaded>
      {open && <MessagePanel key={key} queue={open.queue} messageKey={open.key} onDone={poll.refresh} />}
    </Page>
  );
}

/** All that match, in each queue; none while it is not known which queues those are. */
function allOf(reply: DeadLettersReply | undefined, filter: DeadLetterFilter): readonly DiscardBody[] {
  const selection = Object.keys(filter).length === 0 ? 'all' : filter;
  return (reply?.queues ?? []).map(({ pubsubName, topic, group }) => ({
    queue: { pubsubName, topic, group },
    selection,
  }));
}

/** Counted in the queues: so without the filters of the origin. */
function totalOf({ queues }: DeadLettersReply): string {
  const total = queues.reduce((sum, { ready, delayed, inFlight }) => sum + ready + delayed + inFlight, 0);
  const isCapped = queues.some((queue) => queue.isCapped);
  return `${plural(total, 'message')}${isCapped ? ' or more' : ''} in ${plural(queues.length, 'queue')}`;
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No dead letter matches the filters." />;
  return (
    <Empty title="There are no dead letters.">
      Messages come here when a subscription with a <code>deadLetterTopic</code> cannot process them.
    </Empty>
  );
}
