import { useSignal } from '@preact/signals';
import type { MessageRecord } from '../../api/live.ts';
import { duration } from '../core/format.ts';
import { useRecordList } from '../core/record-list.ts';
import { param, params } from '../core/router.ts';
import { Action, Actions } from '../ui/actions.tsx';
import { AttemptMarks } from '../ui/attempts.tsx';
import { Outcome } from '../ui/badge.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { type FilterSpec, Filters } from '../ui/filters.tsx';
import { Page } from '../ui/page.tsx';
import { MoreRecords, RecordNote } from '../ui/record-status.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Clock } from '../ui/time.tsx';
import { MessagePanel } from './message-panel.tsx';
import { PublishForm } from './publish-form.tsx';

const FILTERS: readonly FilterSpec[] = [
  { name: 'topic', label: 'Topic' },
  { name: 'group', label: 'Group' },
  {
    name: 'outcome',
    label: 'Outcome',
    options: [
      ['', 'any'],
      ['published', 'published'],
      ['delivering', 'delivering'],
      ['retrying', 'retrying'],
      ['delivered', 'delivered'],
      ['dropped', 'dropped'],
      ['deadLettered', 'dead-lettered'],
      ['unsettled', 'unsettled'],
    ],
  },
  { name: 'pubsubName', label: 'Component' },
  { name: 'text', label: 'Text' },
];

const MESSAGE_COLUMNS: readonly Column<MessageRecord>[] = [
  { name: 'at', title: 'Time', cell: ({ at }) => <Clock at={at} /> },
  { name: 'topic', title: 'Topic', cell: ({ topic }) => topic, kind: 'mono' },
  { name: 'outcome', title: 'Outcome', cell: ({ outcome }) => <Outcome of={outcome} /> },
  { name: 'attempts', title: 'Attempts', cell: ({ attempts }) => <AttemptMarks of={attempts} /> },
  { name: 'route', title: 'Group → route', cell: (record) => <Route of={record} />, kind: 'wide' },
  {
    name: 'took',
    title: 'Took',
    cell: ({ durationMs }) => (durationMs === undefined ? '–' : duration(durationMs)),
    kind: 'number',
  },
  { name: 'id', title: 'ID', cell: ({ messageId }) => <code title={messageId}>{messageId}</code>, kind: 'mono' },
];

/** A function in code has the route `/`, which tells nothing. */
function Route({ of: { group, route } }: { readonly of: MessageRecord }) {
  if (group === undefined) return <span class="dim">–</span>;
  return (
    <>
      {group} {route === undefined || route === '/' ? null : <span class="dim">→ {route}</span>}
    </>
  );
}

/** Shows messages while they are published and delivered. */
export function Messages() {
  const isPublishing = useSignal(false);
  const { rows, reply, showMore } = useRecordList(
    'messages',
    params('pubsubName', 'topic', 'group', 'outcome', 'text'),
  );
  const opened = param('open');
  return (
    <Page
      title="Messages"
      note={<RecordNote reply={reply.data} />}
      actions={
        <Actions>
          <Action
            tone="primary"
            run={() => {
              isPublishing.value = true;
              return undefined;
            }}
          >
            Publish…
          </Action>
        </Actions>
      }
    >
      <Filters fields={FILTERS} />
      <Loaded of={reply}>
        {() => (
          <DataTable
            caption="Messages, the newest first"
            columns={MESSAGE_COLUMNS}
            rows={rows}
            rowKey={({ key }) => key}
            empty={
              <Empty title="No message has been seen.">
                It is recorded while somebody looks: what is published from now on appears here.
              </Empty>
            }
          />
        )}
      </Loaded>
      <MoreRecords rows={rows.length} showMore={showMore} />
      {opened === undefined ? null : <MessagePanel key={opened} recordKey={opened} />}
      {isPublishing.value ? (
        <PublishForm
          topic={param('topic') ?? rows[0]?.topic}
          pubsubName={param('pubsubName') ?? rows[0]?.pubsubName}
          onClose={() => {
            isPublishing.value = false;
          }}
        />
      ) : null}
    </Page>
  );
}
