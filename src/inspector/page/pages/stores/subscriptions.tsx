import type { ConfigurationSubscriptionInfo } from '../../../api/stores.ts';
import { count } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Section } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';

const COLUMNS: readonly Column<ConfigurationSubscriptionInfo>[] = [
  {
    name: 'keys',
    title: 'Keys',
    cell: ({ keys }) => (keys.length === 0 ? <span class="dim">all</span> : keys.join(', ')),
  },
  { name: 'id', title: 'ID', kind: 'mono', cell: ({ id }) => id },
  { name: 'since', title: 'Since', sortBy: ({ since }) => since, cell: ({ since }) => <Ago at={since} /> },
  {
    name: 'target',
    title: 'Told to',
    sortBy: ({ target }) => target,
    cell: ({ target }) => (target === 'app' ? 'the application' : 'a function in code'),
  },
  { name: 'told', title: 'Changes', kind: 'number', sortBy: ({ told }) => told, cell: ({ told }) => count(told) },
  {
    name: 'last',
    title: 'Last change',
    kind: 'wide',
    sortBy: ({ lastTold }) => lastTold?.at ?? 0,
    cell: ({ lastTold }) => (lastTold === undefined ? <Ago at={undefined} /> : <LastChange of={lastTold} />),
  },
];

function LastChange({ of: { key, at } }: { readonly of: NonNullable<ConfigurationSubscriptionInfo['lastTold']> }) {
  return (
    <>
      <code>{key}</code> <Ago at={at} />
    </>
  );
}

/** The subscriptions of this process to a configuration store. */
export function Subscriptions({ storeName }: { readonly storeName: string }) {
  const poll = usePoll('stores/subscriptions', { store: storeName });
  return (
    <Section title="Subscriptions of this process">
      <Loaded of={poll}>
        {({ subscriptions }) => (
          <DataTable
            caption="Subscriptions"
            columns={COLUMNS}
            rows={subscriptions}
            rowKey={({ id }) => id}
            isPlain
            empty={
              <Empty title="Nothing is told about changes.">
                Subscribe with <code>sidecar.configuration.watch</code>, or over the HTTP API.
              </Empty>
            }
          />
        )}
      </Loaded>
    </Section>
  );
}
