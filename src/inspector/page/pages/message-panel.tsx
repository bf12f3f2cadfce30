import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { PayloadView } from '../../api/apps.ts';
import type { MessageDetail, MessageRecord } from '../../api/live.ts';
import { bytes, duration, fullTime } from '../core/format.ts';
import { usePoll } from '../core/poll.ts';
import { link } from '../core/router.ts';
import { Action, Actions } from '../ui/actions.tsx';
import { AttemptTable } from '../ui/attempts.tsx';
import { Outcome } from '../ui/badge.tsx';
import { Drawer } from '../ui/page.tsx';
import { JsonValue, Payload } from '../ui/payload.tsx';
import { ExplainedRules, targetOf } from '../ui/rules.tsx';
import { Facts, Loaded } from '../ui/states.tsx';
import { Trace } from '../ui/trace.tsx';
import { PublishForm } from './publish-form.tsx';
import { LINE_ENDS } from './queues/edit-form.tsx';

const REFRESH_MS = 2000;

/** All about one message. */
export function MessagePanel({ recordKey }: { readonly recordKey: string }) {
  const detail = usePoll('messages/one', { key: recordKey }, REFRESH_MS);
  return (
    <Drawer title="Message" note={detail.data?.record.messageId}>
      <Loaded of={detail}>{(data) => <Detail of={data} />}</Loaded>
    </Drawer>
  );
}

function Detail({ of: { record, payload, attributes, subscriptions } }: { readonly of: MessageDetail }) {
  return (
    <div class="parts">
      <MessageActions record={record} payload={payload} />
      <MessageFacts of={record} target={targetIn(subscriptions, record)} />
      <Part title="Attempts">
        <AttemptTable of={record.attempts} />
      </Part>
      <Part title="Data">
        <Payload of={payload} absent="No longer kept." />
      </Part>
      <Part title="Why this route">
        <ExplainedRules subscriptions={subscriptions} />
      </Part>
      <Part title="Attributes of its event">
        {Object.keys(attributes).length === 0 ? (
          <p class="dim">None: it is a raw payload.</p>
        ) : (
          <JsonValue value={attributes} label="Attributes" />
        )}
      </Part>
    </div>
  );
}

/** Where its last attempt went. */
function targetIn(subscriptions: MessageDetail['subscriptions'], { group, route }: MessageRecord): string | undefined {
  const of = subscriptions.find((subscription) => subscription.group === group);
  return of === undefined || !route ? route : targetOf(of.type, route);
}

interface FactsProps {
  readonly of: MessageRecord;
  readonly target: string | undefined;
}

function MessageFacts({ of: record, target }: FactsProps) {
  const { pubsubName, topic, group } = record;
  return (
    <Facts
      items={{
        Outcome: <Outcome of={record.outcome} />,
        Topic: `${pubsubName} / ${topic}`,
        Group: group && <a href={link(['queues', pubsubName, topic, group])}>{group}</a>,
        Route: target && <code>{target}</code>,
        'Dead letter in': record.deadLetterTopic && (
          <a href={link('dead-letters', { topic: record.deadLetterTopic })}>{record.deadLetterTopic}</a>
        ),
        Since: fullTime(record.at),
        Took: record.durationMs && duration(record.durationMs),
        Size: bytes(record.bytes),
        Trace: <Trace of={record.traceparent} />,
      }}
    />
  );
}

interface MessageActionsProps {
  readonly record: MessageRecord;
  readonly payload: PayloadView | undefined;
}

function MessageActions({ record, payload }: MessageActionsProps) {
  const isOpen = useSignal(false);
  return (
    <>
      <Actions label="Actions for this message">
        <Action
          reason={whyNotAgain(payload)}
          run={() => {
            isOpen.value = true;
            return undefined;
          }}
        >
          Publish again…
        </Action>
      </Actions>
      {isOpen.value ? (
        <PublishForm
          pubsubName={record.pubsubName}
          topic={record.topic}
          data={payload?.value}
          contentType={payload?.contentType}
          onClose={() => {
            isOpen.value = false;
          }}
        />
      ) : null}
    </>
  );
}

/** A message that is sent again must equal the one that was sent. */
function whyNotAgain(payload: PayloadView | undefined): string | undefined {
  if (payload === undefined) return 'Its data are no longer kept';
  if (payload.format === 'hidden') return 'Its data are not shown';
  if (payload.isMasked) return 'Parts of its data are masked';
  if (payload.isCut) return 'Only the beginning of its data is kept';
  if (payload.format === 'text' && payload.value.includes('\r')) return LINE_ENDS;
  return payload.format === 'base64' ? 'Its data are binary' : undefined;
}

/** A part of the panel. */
function Part({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}
