import type { StateValueReply } from '../../../api/stores.ts';
import { bytes } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { Drawer } from '../../ui/page.tsx';
import { Payload } from '../../ui/payload.tsx';
import { Facts, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';

interface StateValueProps {
  readonly storeName: string;
  readonly stateKey: string;
}

/** A key of a state store with its value, in the side panel. */
export function ValuePanel(props: StateValueProps) {
  return (
    <Drawer title={props.stateKey} note={`Key of ${props.storeName}`}>
      <StateValue {...props} />
    </Drawer>
  );
}

/** What there is of a key of a state store. */
export function StateValue({ storeName, stateKey }: StateValueProps) {
  const poll = usePoll('stores/keys/one', { store: storeName, key: stateKey });
  return <Loaded of={poll}>{(reply) => <Value of={reply} />}</Loaded>;
}

const WHY: Readonly<Record<NonNullable<StateValueReply['withheld']>, string>> = {
  encrypted: 'the values of this store are encrypted',
  secret: 'its key is the name of a secret',
};

function Value({ of: { key, withheld, value } }: { readonly of: StateValueReply }) {
  const { etag, expiresAt } = key;
  return (
    <>
      <Facts
        items={{
          Size: bytes(key.bytes),
          ETag: etag === undefined ? 'none' : <code>{etag}</code>,
          Expires: expiresAt === undefined ? 'never' : <Ago at={expiresAt} />,
        }}
      />
      <h3>Value</h3>
      {withheld === undefined ? <Payload of={value} label="Value" /> : <p class="dim">Not shown: {WHY[withheld]}.</p>}
    </>
  );
}
