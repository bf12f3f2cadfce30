import type { SubscriptionInfo } from '../../api/queues.ts';
import { duration } from '../core/format.ts';
import { usePoll } from '../core/poll.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Page } from '../ui/page.tsx';
import { targetOf } from '../ui/rules.tsx';
import { Empty, Loaded, Notice } from '../ui/states.tsx';
import { linkToQueue, nameOf } from './queues/links.ts';
import { RuleTester } from './rule-tester.tsx';

const TONES: Readonly<Record<SubscriptionInfo['state'], Tone>> = {
  active: 'good',
  waiting: 'warn',
  starting: 'busy',
  refused: 'bad',
};

const COLUMNS: readonly Column<SubscriptionInfo>[] = [
  { name: 'topic', title: 'Topic → group', sortBy: ({ topic }) => topic, cell: nameOf },
  { name: 'pubsub', title: 'Component', sortBy: ({ pubsubName }) => pubsubName, cell: ({ pubsubName }) => pubsubName },
  { name: 'type', title: 'Type', sortBy: ({ type }) => type, cell: ({ type }) => type.toLowerCase() },
  { name: 'rules', title: 'Rules in order', kind: 'wide', cell: Rules },
  {
    name: 'dead',
    title: 'Dead letters',
    cell: ({ deadLetterTopic }) => deadLetterTopic ?? <span class="dim">none</span>,
  },
  { name: 'concurrency', title: 'Conc.', kind: 'number', cell: ({ concurrency }) => concurrency },
  { name: 'retry', title: 'Retries', cell: retriesOf },
  {
    name: 'state',
    title: 'State',
    sortBy: ({ state }) => state,
    cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>,
  },
];

function Rules({ rules, problem, type }: SubscriptionInfo) {
  return (
    <div class="rules">
      {problem && <Notice tone="bad">{problem}</Notice>}
      {rules.map(({ match, path }) => (
        <div key={match}>
          <code>{match || 'default'}</code> → {targetOf(type, path)}
        </div>
      ))}
    </div>
  );
}

function retriesOf({ retry: { maxRetries, delayMs }, deadLetterTopic }: SubscriptionInfo): string {
  const most = maxRetries ?? (deadLetterTopic === undefined ? undefined : 3);
  const times = most === undefined || most === 'unlimited' ? 'without limit' : `${most}×`;
  return delayMs === undefined ? times : `${times} from ${duration(delayMs)}`;
}

/** The subscriptions and their rules. */
export function Subscriptions() {
  const poll = usePoll('subscriptions');
  return (
    <Page title="Subscriptions" note="Of this process. Each leads to its queue.">
      <Loaded of={poll}>
        {({ subscriptions }) => (
          <>
            <DataTable
              caption="Subscriptions"
              columns={COLUMNS}
              rows={subscriptions}
              rowKey={(one) => String(subscriptions.indexOf(one))}
              href={linkToQueue}
              empty={
                <Empty title="There are no subscriptions.">
                  Subscribe with <code>sidecar.pubsub.subscribe</code>, or with the option <code>subscriptions</code>.
                </Empty>
              }
            />
            <RuleTester subscriptions={subscriptions} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
