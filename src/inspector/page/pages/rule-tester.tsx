import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import type { ExplainReply, SubscriptionInfo } from '../../api/queues.ts';
import { post } from '../core/client.ts';
import { jsonOf } from '../core/input.ts';
import { Action } from '../ui/actions.tsx';
import { Section } from '../ui/page.tsx';
import { ExplainedRules } from '../ui/rules.tsx';

/** Evaluates the rules of a topic for an event, and publishes nothing. */
export function RuleTester({ subscriptions }: { readonly subscriptions: readonly SubscriptionInfo[] }) {
  const id = useId();
  const topics = [...new Map(subscriptions.map((one) => [`${one.pubsubName} / ${one.topic}`, one])).entries()];
  const chosen = useSignal(topics[0]?.[0]);
  const event = useSignal('{ "weight": 120 }');
  const reply = useSignal<ExplainReply | undefined>(undefined);
  if (topics.length === 0) return null;
  const run = async () => {
    const topic = topics.find(([name]) => name === chosen.value)?.[1];
    if (topic === undefined) return undefined;
    const text = jsonOf(event.value, 'The event');
    if (text === undefined) throw new Error('There is no event: expected JSON.');
    reply.value = await post('subscriptions/explain', {
      pubsubName: topic.pubsubName,
      topic: topic.topic,
      event: text,
    });
    return undefined;
  };
  return (
    <Section title="Try an event">
      <p class="note">Which rule holds, and where the event would go. Nothing is published.</p>
      <div class="tester">
        <div class="field">
          <label for={`${id}-topic`}>Topic</label>
          <select
            id={`${id}-topic`}
            value={chosen.value}
            onChange={(change) => (chosen.value = change.currentTarget.value)}
          >
            {topics.map(([name]) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for={`${id}-event`}>Event: JSON of a CloudEvent, or of data</label>
          <textarea
            id={`${id}-event`}
            class="mono"
            rows={6}
            spellcheck={false}
            value={event.value}
            onInput={(change) => (event.value = change.currentTarget.value)}
          />
        </div>
        <Action isHarmless tone="primary" run={run}>
          Try it
        </Action>
      </div>
      <div role="status">{reply.value === undefined ? null : <ExplainedRules {...reply.value} />}</div>
    </Section>
  );
}
