import type { BindingInfo, StoreInfo } from '../../../api/stores.ts';
import { usePoll } from '../../core/poll.ts';
import { Page } from '../../ui/page.tsx';
import { Empty, Facts, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { BLOCKS, StoreHealth } from './list.tsx';
import { Locks } from './locks.tsx';
import { Scope } from './scope.tsx';
import { StateKeys } from './state-keys.tsx';
import { Subscriptions } from './subscriptions.tsx';

/** A store, and what is known of its contents. */
export function StoreDetail({ name }: { readonly name: string }) {
  const poll = usePoll('stores');
  const store = poll.data?.stores.find((one) => one.name === name);
  return (
    <Page title={name} note={store && (store.block === 'bindings' ? 'Binding' : `Store of ${BLOCKS[store.block]}`)}>
      <Loaded of={poll}>
        {() =>
          store === undefined ? (
            <Empty title={`There is no store ${name}.`} />
          ) : (
            <>
              <Facts items={{ Type: `${store.type} ${store.version}`, State: <StoreHealth of={store} /> }} />
              <Contents of={store} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

/** What a binding can be asked for, and its last events. */
function Binding({ of: { operations, input } }: { readonly of: BindingInfo }) {
  const { acceptedAt, failedAt, reason } = input ?? {};
  return (
    <Facts
      items={{
        ...(operations.length > 0 && { Operations: operations.join(', ') }),
        ...(input && { Events: input.isRead ? 'delivered' : 'nobody gets them' }),
        ...(acceptedAt && { 'Last accepted': <Ago at={acceptedAt} /> }),
        ...(failedAt && {
          'Last failed': (
            <>
              <Ago at={failedAt} />: {reason}
            </>
          ),
        }),
      }}
    />
  );
}

function Contents({ of: store }: { readonly of: StoreInfo }) {
  switch (store.block) {
    case 'state':
      return <StateKeys of={store} />;
    case 'lock':
      return <Locks storeName={store.name} />;
    case 'configuration':
      return <Subscriptions storeName={store.name} />;
    case 'secrets':
      return <Scope of={store} />;
    case 'bindings':
      return <Binding of={store} />;
  }
}
