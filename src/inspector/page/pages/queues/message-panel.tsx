import { useSignal } from '@preact/signals';
import type { QueuedMessage, QueueRef } from '../../../api/queues.ts';
import { post } from '../../core/client.ts';
import { usePoll } from '../../core/poll.ts';
import { link } from '../../core/router.ts';
import { Action, opens } from '../../ui/actions.tsx';
import { closeDrawer, Drawer } from '../../ui/page.tsx';
import { JsonValue, Payload } from '../../ui/payload.tsx';
import { Facts, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { Trace } from '../../ui/trace.tsx';
import { EditForm, whyNotEditable } from './edit-form.tsx';
import { linkToQueue, nameOf } from './links.ts';
import { MessageActions, NO_ORIGIN } from './message-actions.tsx';

interface MessagePanelProps {
  readonly queue: QueueRef;
  /** Of the message in its queue. */
  readonly messageKey: string;
  readonly state?: string | undefined;
  readonly onDone: () => void;
}

/** Messages that wait change seldom. */
const POLL_MS = 10_000;

/** A message of a queue with its data, and what can be done to it. */
export function MessagePanel({ queue: { pubsubName, topic, group }, messageKey, state, onDone }: MessagePanelProps) {
  const queue = { pubsubName, topic, group };
  const poll = usePoll('queues/messages/one', { ...queue, key: messageKey, state }, POLL_MS);
  const message = poll.data?.message;
  return (
    <Drawer title={message?.messageId ?? 'Message'} note={<a href={linkToQueue(queue)}>{nameOf(queue)}</a>}>
      <Loaded of={poll}>
        {({ message: shown }) => (
          <>
            {shown.state === 'inFlight' ? null : <PanelActions queue={queue} message={shown} onDone={onDone} />}
            <MessageFacts of={shown} pubsubName={pubsubName} />
            <h3>Data</h3>
            <Payload of={shown.payload} />
            <h3>Attributes</h3>
            <JsonValue value={shown.attributes} label="Attributes" />
          </>
        )}
      </Loaded>
    </Drawer>
  );
}

function MessageFacts({ of, pubsubName }: { readonly of: QueuedMessage; readonly pubsubName: string }) {
  const { messageId, deadLetter, at, dueAt, expiresAt, attempts, isRaw, traceparent } = of;
  return (
    <Facts
      items={{
        Reason: deadLetter?.reason,
        From: deadLetter && <a href={linkToQueue({ pubsubName, ...deadLetter })}>{nameOf(deadLetter)}</a>,
        Failed: deadLetter && <Ago at={deadLetter.deadAt} />,
        Attempts: deadLetter?.attempts ?? attempts,
        Published: at && <Ago at={at} />,
        Due: dueAt && <Ago at={dueAt} />,
        Expires: expiresAt && <Ago at={expiresAt} />,
        Form: isRaw ? 'raw: no CloudEvent' : undefined,
        'Live flow': <a href={link('messages', { text: messageId })}>seen by this process</a>,
        Trace: traceparent && <Trace of={traceparent} />,
      }}
    />
  );
}

interface PanelActionsProps {
  readonly queue: QueueRef;
  readonly message: QueuedMessage;
  readonly onDone: () => void;
}

function PanelActions({ queue, message, onDone }: PanelActionsProps) {
  const isEditing = useSignal(false);
  const isKnown = message.deadLetter !== undefined;
  const selection = [message.key];
  const done = () => {
    closeDrawer();
    onDone();
  };
  return (
    <>
      <MessageActions parts={[{ queue, selection }]} what="this message" haveOrigins={isKnown} onDone={done}>
        <Action reason={isKnown ? whyNotEditable(message.payload) : NO_ORIGIN} run={opens(isEditing)}>
          Edit and redeliver…
        </Action>
      </MessageActions>
      {isEditing.value ? (
        <EditForm
          message={message}
          onClose={() => (isEditing.value = false)}
          send={async (data) => {
            const { count } = await post('queues/redeliver', { queue, selection, data });
            if (count === 0) throw new Error('Nothing was redelivered: the message is gone.');
            done();
          }}
        />
      ) : null}
    </>
  );
}
