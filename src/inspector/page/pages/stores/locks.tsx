import type { HeldLockInfo } from '../../../api/stores.ts';
import { usePoll } from '../../core/poll.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Section } from '../../ui/page.tsx';
import { Empty, Loaded, Notice } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';

const COLUMNS: readonly Column<HeldLockInfo>[] = [
  { name: 'resource', title: 'Resource', sortBy: ({ resource }) => resource, cell: ({ resource }) => resource },
  { name: 'owner', title: 'Owner', kind: 'mono', cell: ({ owner }) => owner },
  { name: 'taken', title: 'Taken', sortBy: ({ takenAt }) => takenAt, cell: ({ takenAt }) => <Ago at={takenAt} /> },
  {
    name: 'expires',
    title: 'Expires',
    sortBy: ({ expiresAt }) => expiresAt,
    cell: ({ expiresAt }) => <Ago at={expiresAt} />,
  },
];

const POLL_MS = 2_000;

/** The locks that this process holds. */
export function Locks({ storeName }: { readonly storeName: string }) {
  const poll = usePoll('stores/locks', { store: storeName }, POLL_MS);
  return (
    <Section title="Locks that this process holds">
      <p class="note">
        It has taken them, and neither released them nor let them expire. Locks of other processes cannot be listed.
      </p>
      <Loaded of={poll}>
        {({ locks, isComplete }) => (
          <>
            {isComplete ? null : (
              <Notice tone="warn">There may be earlier ones: only the latest 1,000 are kept.</Notice>
            )}
            <DataTable
              caption="Locks"
              columns={COLUMNS}
              rows={locks}
              rowKey={({ resource }) => resource}
              isPlain
              empty={<Empty title="This process holds no lock of this store." />}
            />
          </>
        )}
      </Loaded>
    </Section>
  );
}
