import type { StoreInfo } from '../../../api/stores.ts';
import { plural } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { link } from '../../core/router.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { readable } from './scope.tsx';

/** The building blocks in words. */
export const BLOCKS: Readonly<Record<StoreInfo['block'], string>> = {
  state: 'state',
  lock: 'locks',
  configuration: 'configuration',
  secrets: 'secrets',
  bindings: 'bindings',
};

const COLUMNS: readonly Column<StoreInfo>[] = [
  { name: 'name', title: 'Name', sortBy: ({ name }) => name, cell: ({ name }) => name },
  { name: 'block', title: 'For', sortBy: ({ block }) => BLOCKS[block], cell: ({ block }) => BLOCKS[block] },
  { name: 'type', title: 'Type', kind: 'mono', cell: ({ type, version }) => `${type} ${version}` },
  { name: 'use', title: 'In this process', kind: 'wide', cell: useOf },
  { name: 'health', title: 'State', cell: (store) => <StoreHealth of={store} /> },
];

function useOf(store: StoreInfo): string {
  switch (store.block) {
    case 'state':
      return [
        store.keyPrefix === '' ? 'keys without a prefix' : `keys behind ${store.keyPrefix}`,
        ...(store.isEncrypted ? ['values encrypted'] : []),
      ].join(', ');
    case 'lock':
      return `holds ${plural(store.held, 'lock')}`;
    case 'configuration':
      return plural(store.subscriptions, 'subscription');
    case 'secrets':
      return `may read ${readable(store.scope)}`;
    case 'bindings':
      return [
        ...(store.operations.length > 0 ? [`is called: ${store.operations.join(', ')}`] : []),
        ...(store.input === undefined ? [] : [store.input.isRead ? 'delivers events' : 'nobody gets its events']),
      ].join('; ');
  }
}

/** Whether a store works, and why not. */
export function StoreHealth({ of: { failure } }: { readonly of: StoreInfo }) {
  return failure === undefined ? (
    <Badge tone="good">works</Badge>
  ) : (
    <>
      <Badge tone="bad">fails</Badge> {failure}
    </>
  );
}

/** The stores of state, locks, configuration and secrets, and the bindings. */
export function StoreList() {
  const poll = usePoll('stores');
  return (
    <Page
      title="Stores"
      note="The components that keep state, locks, configuration and secrets of the application, and its bindings."
    >
      <Loaded of={poll}>
        {({ stores }) => (
          <DataTable
            caption="Stores"
            columns={COLUMNS}
            rows={stores}
            rowKey={({ name }) => name}
            href={({ name }) => link(['stores', name])}
            empty={
              <Empty title="There are no stores.">
                They are components, such as <code>keyValueStore('state')</code> and <code>durableLocks('locks')</code>.
              </Empty>
            }
          />
        )}
      </Loaded>
    </Page>
  );
}
