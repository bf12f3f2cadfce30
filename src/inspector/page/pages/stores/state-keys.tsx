import type { StateKeyInfo, StateStoreInfo } from '../../../api/stores.ts';
import { bytes } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { param, params } from '../../core/router.ts';
import { type Column, DataTable, Pager } from '../../ui/data-table.tsx';
import { Filters } from '../../ui/filters.tsx';
import { Section } from '../../ui/page.tsx';
import { Empty, Facts, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { StateValue, ValuePanel } from './value.tsx';

const COLUMNS: readonly Column<StateKeyInfo>[] = [
  { name: 'key', title: 'Key', kind: 'mono', sortBy: ({ key }) => key, cell: ({ key }) => key },
  { name: 'size', title: 'Size', kind: 'number', sortBy: (info) => info.bytes, cell: (info) => bytes(info.bytes) },
  { name: 'etag', title: 'ETag', kind: 'mono', cell: ({ etag }) => etag },
  {
    name: 'expires',
    title: 'Expires',
    sortBy: ({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt,
    cell: ({ expiresAt }) => (expiresAt === undefined ? <span class="dim">never</span> : <Ago at={expiresAt} />),
  },
];

/** The keys of a state store, and the value of the one that is open. */
export function StateKeys({ of: store }: { readonly of: StateStoreInfo }) {
  return (
    <>
      <Facts
        items={{
          'Key prefix': store.keyPrefix === '' ? 'none' : <code>{store.keyPrefix}</code>,
          Values: store.isEncrypted ? 'encrypted: never shown' : undefined,
        }}
      />
      {store.isListed ? <KeyList storeName={store.name} /> : <OneKey of={store} />}
    </>
  );
}

/** Values come along from the store, so it is asked less often than others. */
const POLL_MS = 10_000;

function KeyList({ storeName }: { readonly storeName: string }) {
  const poll = usePoll('stores/keys', { store: storeName, ...params('prefix', 'cursor') }, POLL_MS);
  const open = param('open');
  return (
    <>
      <Filters fields={[{ name: 'prefix', label: 'Key begins with' }]} />
      <Loaded of={poll}>
        {({ keys, cursor }) => (
          <>
            <DataTable
              caption="Keys"
              columns={COLUMNS}
              rows={keys}
              rowKey={({ key }) => key}
              empty={<NoKeys cursor={cursor} />}
            />
            <Pager cursor={cursor} />
          </>
        )}
      </Loaded>
      {open && <ValuePanel key={open} storeName={storeName} stateKey={open} />}
    </>
  );
}

function NoKeys({ cursor }: { readonly cursor: string | undefined }) {
  if (cursor !== undefined) return <Empty title="None among those looked at so far." />;
  return <Empty title={param('prefix') === undefined ? 'There are no keys.' : 'No key begins so.'} />;
}

/** For a store that does not list its keys: the value of one that is typed in. */
function OneKey({ of: { name, type } }: { readonly of: StateStoreInfo }) {
  const key = param('key');
  return (
    <>
      <Filters fields={[{ name: 'key', label: 'Key' }]} />
      {key === undefined ? (
        <Empty title={`Stores of the type ${type} do not list their keys.`}>One that you know can be shown.</Empty>
      ) : (
        <Section title={key}>
          <StateValue storeName={name} stateKey={key} />
        </Section>
      )}
    </>
  );
}
