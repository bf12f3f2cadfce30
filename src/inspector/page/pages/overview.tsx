import type { ComponentChildren } from 'preact';
import type { Attention, LiveRecord, Overview as OverviewData, Series } from '../../api/live.ts';
import { describe } from '../core/describe.ts';
import { count, duration } from '../core/format.ts';
import { type Rates, rates, useLive } from '../core/live.ts';
import { usePoll } from '../core/poll.ts';
import { link } from '../core/router.ts';
import { Badge, Outcome, Status } from '../ui/badge.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Sparkline } from '../ui/sparkline.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Clock } from '../ui/time.tsx';

/** How this process does: what flows, what needs somebody, what happened. */
export function Overview() {
  // The numbers come over the stream; of what it carries beside them, the little that is rare.
  useLive({ kinds: 'job,workflow' });
  const overview = usePoll('overview');
  return (
    <Page title="Overview">
      <Loaded of={overview}>
        {(data) => (
          <>
            <Section title="Needs attention">
              <NeedsAttention of={data.attention} />
            </Section>
            <Section title="The last two minutes of this process">
              <Figures of={newest(data)} />
            </Section>
            <Section title="Recent">
              <Recent of={data.recent} />
              <p class="note">
                <a href={link('messages')}>All messages →</a>
              </p>
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function newest(polled: OverviewData): Rates {
  const streamed = rates.value;
  return streamed !== undefined && streamed.at > polled.at ? streamed : polled;
}

const TILES: readonly (readonly [title: string, names: readonly Series['name'][], href: string])[] = [
  ['Published', ['published'], link('messages')],
  ['Delivered', ['delivered'], link('messages', { outcome: 'delivered' })],
  ['Retries', ['retrying'], link('messages', { outcome: 'retrying' })],
  ['Dead-lettered', ['deadLettered'], link('dead-letters')],
  ['Dropped', ['dropped'], link('messages', { outcome: 'dropped' })],
  ['Calls', ['calls'], link('calls')],
  ['Failed calls', ['callsFailed'], link('calls', { status: '5xx' })],
  ['Jobs done', ['jobsDone'], link('jobs')],
  ['Jobs failed', ['jobsFailed'], link('jobs')],
  ['Workflows started', ['workflowsStarted'], link('workflows')],
  ['Workflows failed', ['workflowsFailed'], link('workflows', { status: 'FAILED' })],
];

function Figures({ of: { series, p95Ms } }: { readonly of: Rates }) {
  return (
    <ul class="tiles">
      {TILES.map(([title, names, href]) => {
        const shown = series.find(({ name }) => names.includes(name));
        return shown === undefined ? null : <Tile key={title} title={title} href={href} of={shown} />;
      })}
      <li class="tile">
        <span class="tile-title">Delivery, p95</span>
        <strong>{p95Ms === undefined ? '–' : duration(p95Ms)}</strong>
        <span class="dim">19 of 20 are faster</span>
      </li>
    </ul>
  );
}

/** The rate is that of the last seconds: one alone jumps. */
const RATE_SECONDS = 10;

function Tile({ title, href, of }: { readonly title: string; readonly href: string; readonly of: Series }) {
  const last = of.perSecond.slice(-RATE_SECONDS);
  const perSecond = last.reduce((sum, value) => sum + value, 0) / RATE_SECONDS;
  return (
    <li class="tile">
      <a class="tile-title" href={href}>
        {title}
      </a>
      <strong>
        {perSecond >= 10 || Number.isInteger(perSecond) ? count(Math.round(perSecond)) : perSecond.toFixed(1)}
        <small>/s</small>
      </strong>
      <span class="dim">{count(of.total)} since the start</span>
      <Sparkline label={`${title} per second`} values={of.perSecond} />
    </li>
  );
}

function NeedsAttention({ of }: { readonly of: readonly Attention[] }) {
  if (of.length === 0) return <p class="calm">Nothing: all is well.</p>;
  return (
    <ul class="attention">
      {of.map(({ severity, text, href }) => (
        <li key={text}>
          <Badge tone={severity === 'error' ? 'bad' : 'warn'}>{severity}</Badge> <a href={href}>{text}</a>
        </li>
      ))}
    </ul>
  );
}

const COLUMNS: readonly Column<LiveRecord>[] = [
  { name: 'at', title: 'Time', cell: ({ at }) => <Clock at={at} /> },
  { name: 'kind', title: 'What', cell: (record) => describe(record).kind },
  { name: 'subject', title: 'Which', cell: (record) => describe(record).subject, kind: 'mono' },
  { name: 'outcome', title: 'Outcome', cell: (record) => <RecordOutcome of={record} /> },
  { name: 'detail', title: 'Why', cell: (record) => <Detail text={describe(record).detail} />, kind: 'wide' },
];

function RecordOutcome({ of }: { readonly of: LiveRecord }) {
  return of.kind === 'call' ? <Status of={of.status} /> : <Outcome of={of.outcome} />;
}

function Detail({ text }: { readonly text: string }): ComponentChildren {
  return <span title={text}>{text}</span>;
}

function Recent({ of }: { readonly of: readonly LiveRecord[] }) {
  return (
    <DataTable
      caption="What happened, failures first"
      columns={COLUMNS}
      rows={of}
      rowKey={({ key }) => key}
      href={(record) => describe(record).href}
      empty={<Empty title="Nothing has happened since somebody looks." />}
    />
  );
}
