import type { ComponentChildren } from 'preact';
import { describe } from '../core/describe.ts';
import type { Reads } from '../core/endpoints.ts';
import { fullTime } from '../core/format.ts';
import type { HashQuery } from '../core/hash.ts';
import { usePoll } from '../core/poll.ts';
import { link, param } from '../core/router.ts';
import { Outcome } from '../ui/badge.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';

/** Where the searched text occurs: the first few of each kind, and the way to all. */
export function Search() {
  const text = param('text');
  if (text === undefined) {
    return (
      <Page title="Search">
        <Empty title="What are you looking for?">Type it into the field above: the key / leads there.</Empty>
      </Page>
    );
  }
  return (
    <Page title="Search" note={`“${text}” in messages and calls, and at the beginning of workflow IDs and job names`}>
      <Hits title="Messages" path="messages" query={{ text }}>
        {({ records }) =>
          records.map((record) => [
            link('messages', { text, open: record.key }),
            record.messageId,
            <>
              {record.topic} <Outcome of={record.outcome} /> {fullTime(record.at)}
            </>,
          ])
        }
      </Hits>
      <Hits title="Workflows" path="workflows" query={{ prefix: text }}>
        {({ instances }) =>
          instances.map(({ instanceId, name, status }) => [
            link(['workflows', instanceId]),
            instanceId,
            <>
              {name} <Outcome of={status} />
            </>,
          ])
        }
      </Hits>
      <Hits title="Jobs" path="jobs" query={{ prefix: text }}>
        {({ jobs }) => jobs.map(({ name, schedule }) => [link(['jobs', name]), name, schedule])}
      </Hits>
      <Hits title="Calls" path="calls" query={{ text }}>
        {({ records }) =>
          records.map((record) => {
            const { subject, outcome, detail } = describe(record);
            return [link('calls', { text }), detail, `${subject} ${outcome}`];
          })
        }
      </Hits>
    </Page>
  );
}

type Hit = readonly [href: string, title: string, detail: ComponentChildren];

interface HitsProps<P extends keyof Reads> {
  readonly title: string;
  readonly path: P;
  readonly query: HashQuery;
  readonly children: (found: Reads[P]) => readonly Hit[];
}

const SHOWN = 5;

function Hits<P extends keyof Reads>({ title, path, query, children }: HitsProps<P>) {
  const found = usePoll(path, { ...query, limit: SHOWN });
  return (
    <Section title={title}>
      <Loaded of={found}>
        {(data) => {
          const hits = children(data);
          if (hits.length === 0) return <p class="dim">None.</p>;
          return (
            <ul class="hits">
              {hits.map(([href, name, detail], at) => (
                <li key={`${at} ${name}`}>
                  <a href={href}>{name}</a> {detail}
                </li>
              ))}
              <li>
                <a href={link(path, query)}>All →</a>
              </li>
            </ul>
          );
        }}
      </Loaded>
    </Section>
  );
}
