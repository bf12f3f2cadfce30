import type { BreakerInfo, HealthState, MetadataDocument } from '../../../index.ts';
import { count } from '../core/format.ts';
import { usePoll } from '../core/poll.ts';
import { session } from '../core/session.ts';
import { Badge } from '../ui/badge.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Page, Section } from '../ui/page.tsx';
import { JsonValue } from '../ui/payload.tsx';
import { Empty, Facts, Loaded, Notice } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';

/** How the sidecar is set, and how its parts are. */
export function Settings() {
  const settings = usePoll('settings');
  return (
    <Page title="Settings" note="Health, circuit breakers and configuration of this process">
      <Loaded of={settings}>
        {({ health, breakers, configuration, metadata }) => (
          <>
            <Unhandled of={metadata.unhandled} />
            <div class="columns">
              <Section title="Health">
                <Health of={health} />
              </Section>
              <Section title="Process">
                <Process of={metadata} />
              </Section>
            </div>
            <Section title="Circuit breakers">
              <Breakers of={breakers} />
            </Section>
            <Section title="Components">
              <Components of={metadata.components} />
            </Section>
            <Section title="Configuration">
              <JsonValue value={configuration} label="Configuration" />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Messages and jobs that arrive and are lost, or wait, because nothing handles them. */
function Unhandled({ of }: { readonly of: MetadataDocument['unhandled'] }) {
  const notes = [
    ...(of?.messages ?? []).map(
      ({ pubsubname, topic, count: lost }) =>
        `${count(lost)} messages were published to ${pubsubname}/${topic}, which nobody has subscribed to: they are lost.`,
    ),
    ...(of?.groups ?? []).map(
      ({ pubsubname, topic, group, count: kept }) =>
        `${count(kept)} messages wait in ${pubsubname}/${topic}/${group}, which nobody has read for ten minutes.`,
    ),
    ...(of?.jobs ?? []).map(
      ({ name, count: runs }) => `Job ${name} was due ${count(runs)} times without a handler: it waits.`,
    ),
  ];
  return (
    <>
      {notes.map((text) => (
        <Notice key={text} tone="warn">
          {text}
        </Notice>
      ))}
    </>
  );
}

function Health({ of }: { readonly of: HealthState }) {
  const parts = [
    { name: 'all', isReady: of.isReady, reason: undefined },
    { name: 'outbound calls', isReady: of.isOutboundReady, reason: undefined },
    ...of.checks,
  ];
  return (
    <div class="panel">
      <Facts
        items={Object.fromEntries(
          parts.map(({ name, isReady, reason }) => [
            name,
            <>
              <Badge tone={isReady ? 'good' : 'bad'}>{isReady ? 'ready' : 'not ready'}</Badge> {reason}
            </>,
          ]),
        )}
      />
    </div>
  );
}

function Process({ of }: { readonly of: MetadataDocument }) {
  const { port, protocol, channelAddress } = of.appConnectionProperties;
  return (
    <div class="panel">
      <Facts
        items={{
          'App ID': of.id,
          insidecar: session.value?.version,
          State: of.state === undefined ? 'in memory' : `${of.state.type}, survives: ${of.state.durability}`,
          Application: port === undefined ? 'in this process' : `${protocol}://${channelAddress}:${port}`,
          ...attributesOf(of),
        }}
      />
    </div>
  );
}

/** The attributes that the application has set; the version of the runtime is shown above. */
function attributesOf({ extended }: MetadataDocument): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(extended).filter(([name]) => !/^(?:sidecar|dapr)RuntimeVersion$/.test(name)),
  );
}

const BREAKER_COLUMNS: readonly Column<BreakerInfo>[] = [
  { name: 'target', title: 'Target', cell: ({ target }) => target, kind: 'mono', sortBy: ({ target }) => target },
  { name: 'endpoint', title: 'Part', cell: ({ endpoint }) => endpoint, kind: 'mono' },
  { name: 'policy', title: 'Policy', cell: ({ policy }) => policy },
  { name: 'state', title: 'State', cell: (breaker) => <BreakerState of={breaker} />, sortBy: ({ state }) => state },
  {
    name: 'failures',
    title: 'Failures in a row',
    cell: ({ consecutiveFailures }) => count(consecutiveFailures),
    kind: 'number',
    sortBy: ({ consecutiveFailures }) => consecutiveFailures,
  },
];

function BreakerState({ of: { state, openUntil } }: { readonly of: BreakerInfo }) {
  return (
    <>
      <Badge tone={state === 'closed' ? 'good' : state === 'open' ? 'bad' : 'warn'}>{state}</Badge>{' '}
      {openUntil === undefined ? null : (
        <span class="dim">
          tries again <Ago at={openUntil} />
        </span>
      )}
    </>
  );
}

function Breakers({ of }: { readonly of: readonly BreakerInfo[] }) {
  return (
    <DataTable
      caption="Circuit breakers"
      columns={BREAKER_COLUMNS}
      rows={of}
      rowKey={({ target, endpoint, policy }) => `${target} ${endpoint} ${policy}`}
      isPlain
      empty={<Empty title="No circuit breaker has been used." />}
    />
  );
}

type Component = MetadataDocument['components'][number];

const COMPONENT_COLUMNS: readonly Column<Component>[] = [
  { name: 'name', title: 'Name', cell: ({ name }) => name },
  { name: 'type', title: 'Type', cell: ({ type, version }) => `${type} ${version}`, kind: 'mono' },
  { name: 'capabilities', title: 'Capabilities', cell: ({ capabilities }) => capabilities.join(', '), kind: 'wide' },
];

function Components({ of }: { readonly of: readonly Component[] }) {
  return (
    <DataTable
      caption="Components"
      columns={COMPONENT_COLUMNS}
      rows={of}
      rowKey={({ name }) => name}
      isPlain
      empty={<Empty title="No component is loaded." />}
    />
  );
}
