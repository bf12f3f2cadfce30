import { useEffect, useState } from 'preact/hooks';
import type { WorkflowReply } from '../../../api/workflows.ts';
import { usePoll } from '../../core/poll.ts';
import { link } from '../../core/router.ts';
import { isOver } from '../../timeline/model.ts';
import { Outcome } from '../../ui/badge.tsx';
import { currentTab, Page, Tabs } from '../../ui/page.tsx';
import { Payload } from '../../ui/payload.tsx';
import { Facts, Loaded, Notice } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { Failure } from './failure.tsx';
import { HistoryTab } from './history.tsx';
import { InstanceActions } from './instance-actions.tsx';
import { InstanceLink } from './instance-link.tsx';
import { missingIn } from './missing.ts';
import { TimelineTab } from './timeline-tab.tsx';
import { Took } from './took.tsx';

const TABS = [
  ['timeline', 'Timeline'],
  ['history', 'History'],
  ['data', 'Input and output'],
] as const;

/** How often to ask: a long history takes some time to send, and one that is over changes no more. */
const POLL_MS = { short: 2_000, long: 15_000, over: 60_000 } as const;
const LONG_HISTORY = 2_000;

/** An instance: what it is, how it came along, and what can be done to it. */
export function WorkflowDetail({ instanceId }: { readonly instanceId: string }) {
  const [everyMs, setEveryMs] = useState<number>(POLL_MS.short);
  const poll = usePoll('workflows/one', { instanceId }, everyMs);
  const { data } = poll;
  useEffect(() => setEveryMs(pollMs(data)), [data]);
  return (
    <Page
      title={instanceId}
      note={data === undefined ? 'Workflow' : <StatusLine of={data} />}
      actions={data && <InstanceActions reply={data} refresh={poll.refresh} />}
    >
      <Loaded of={poll}>
        {(reply) => (
          <>
            <About reply={reply} />
            <Tabs label="Parts of the workflow" tabs={TABS} />
            <TabContent reply={reply} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function pollMs(reply: WorkflowReply | undefined): number {
  if (reply === undefined) return POLL_MS.short;
  if (isOver(reply.instance.status)) return POLL_MS.over;
  return reply.history.length > LONG_HISTORY ? POLL_MS.long : POLL_MS.short;
}

function StatusLine({ of: { instance } }: { readonly of: WorkflowReply }) {
  return (
    <>
      {instance.name} · <Outcome of={instance.status} /> · <Took of={instance} />
    </>
  );
}

function About({ reply: { instance, children } }: { readonly reply: WorkflowReply }) {
  const { instanceId, parentId, rerunOf, customStatus, missingCode, awaitedEvents, unreadEvents, failure, createdAt } =
    instance;
  return (
    <>
      {missingCode && <Notice tone="warn">It waits for code that is not registered: {missingIn(instance)}</Notice>}
      {failure && <Failure of={failure} />}
      <Facts
        items={{
          Started: <Ago at={createdAt} />,
          'Custom status': customStatus,
          'Waits for event': awaitedEvents?.join(', '),
          'Unread events': unreadEvents?.join(', '),
          Parent: parentId && <InstanceLink id={parentId} mark="↑" />,
          'Runs again': rerunOf && <InstanceLink id={rerunOf} mark="↺" />,
          Children:
            children.length === 0 ? undefined : (
              <a href={link('workflows', { parentId: instanceId })}>{children.length} ↓</a>
            ),
        }}
      />
    </>
  );
}

function TabContent({ reply }: { readonly reply: WorkflowReply }) {
  const tab = currentTab(TABS);
  if (tab === 'history') return <HistoryTab reply={reply} />;
  if (tab !== 'data') return <TimelineTab reply={reply} />;
  return (
    <>
      <h2>Input</h2>
      <Payload of={reply.input} label="Input" absent="There is no input." />
      <h2>Output</h2>
      <Payload of={reply.output} label="Output" absent="There is no output." />
    </>
  );
}
