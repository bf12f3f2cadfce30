import type { HostInfo } from '../../../index.ts';
import type { HostsReply } from '../../api/settings.ts';
import { plural } from '../core/format.ts';
import { usePoll } from '../core/poll.ts';
import { rangesOf, shardsWithoutHost } from '../core/shards.ts';
import { Badge } from '../ui/badge.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded, Notice } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';

/** All processes that share the state, and their parts of the work. */
export function Hosts() {
  const hosts = usePoll('hosts');
  return (
    <Page
      title="Hosts"
      note="All processes that share the state. A shard is a part of the jobs, workflows and queues of an application."
    >
      <Loaded of={hosts}>{(data) => <HostTable {...data} />}</Loaded>
    </Page>
  );
}

function HostTable({ hosts, shardCount }: HostsReply) {
  return (
    <>
      {shardsWithoutHost(hosts, shardCount).map(([appId, shards]) => (
        <Notice key={appId} tone="warn">
          {plural(shards.length, 'shard')} of {appId} {shards.length === 1 ? 'belongs' : 'belong'} to no host now: what
          is in {shards.length === 1 ? 'it' : 'them'} waits ({rangesOf(shards)}).
        </Notice>
      ))}
      <DataTable
        caption="Hosts"
        columns={columnsFor(shardCount)}
        rows={hosts}
        rowKey={({ hostId }) => hostId}
        isPlain
        empty={<Empty title="No host has registered yet." />}
      />
    </>
  );
}

function columnsFor(shardCount: number): readonly Column<HostInfo>[] {
  return [
    { name: 'host', title: 'Host', cell: (host) => <HostName of={host} />, sortBy: ({ hostId }) => hostId },
    {
      name: 'app',
      title: 'Application',
      cell: ({ appId, namespace }) => (namespace === 'default' ? appId : `${namespace}/${appId}`),
      sortBy: ({ appId }) => appId,
    },
    {
      name: 'address',
      title: 'Address',
      cell: ({ address }) => address ?? <span class="dim">none</span>,
      kind: 'mono',
    },
    {
      name: 'shards',
      title: `Shards 0–${shardCount - 1}`,
      cell: ({ shards }) => <Strip of={shards} end={shardCount} />,
    },
    {
      name: 'updated',
      title: 'Changed',
      cell: ({ updatedAt }) => <Ago at={updatedAt} />,
      sortBy: (host) => host.updatedAt,
    },
  ];
}

function HostName({ of: { hostId, isSelf } }: { readonly of: HostInfo }) {
  return (
    <>
      <code title={hostId}>
        {hostId.slice(0, 8)}…{hostId.slice(-4)}
      </code>{' '}
      {isSelf ? <Badge tone="good">this process</Badge> : null}
    </>
  );
}

/** The shards of a host as a strip, and in words. */
function Strip({ of, end }: { readonly of: readonly number[]; readonly end: number }) {
  const owned = new Set(of);
  return (
    <div class="shards">
      <svg viewBox={`0 0 ${end * 4} 12`} aria-hidden="true">
        {Array.from({ length: end }, (_, shard) => (
          <rect key={shard} x={shard * 4} y="0" width="3" height="12" class={owned.has(shard) ? 'owned' : ''} />
        ))}
      </svg>
      <span>{of.length === 0 ? 'none' : `${of.length}: ${rangesOf(of)}`}</span>
    </div>
  );
}
