import type { ExplainedSubscription } from '../../../index.ts';
import { Badge } from './badge.tsx';
import { Empty } from './states.tsx';

type Rule = ExplainedSubscription['rules'][number];

/** Where an event goes, and why: the rules of each subscription in their order, and what came of them. */
export function ExplainedRules({ subscriptions }: { readonly subscriptions: readonly ExplainedSubscription[] }) {
  if (subscriptions.length === 0) {
    return <Empty title="Nobody of this application has subscribed to the topic." />;
  }
  return (
    <>
      {subscriptions.map((subscription) => (
        <ExplainedOne
          key={`${subscription.pubsubName}/${subscription.topic}/${subscription.group}`}
          {...subscription}
        />
      ))}
    </>
  );
}

function ExplainedOne({ group, rules, path, deadLetterTopic, type }: ExplainedSubscription) {
  return (
    <div class="explained">
      <p>
        Group <strong>{group}</strong> →{' '}
        {path === undefined ? (
          <Badge tone="bad">
            {deadLetterTopic === undefined ? 'no route: dropped' : `no route: ${deadLetterTopic}`}
          </Badge>
        ) : (
          <code>{targetOf(type, path)}</code>
        )}
      </p>
      <ol>
        {rules.map((rule, at) => (
          <li key={`${at} ${rule.match}`}>
            <Verdict of={rule} /> {rule.match === '' ? <span>default</span> : <code>{rule.match}</code>}{' '}
            <span class="dim">→ {targetOf(type, rule.path)}</span>
            {rule.error === undefined ? null : <p class="problem">{rule.error}</p>}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** The route of a function in code tells nothing. */
export function targetOf(type: ExplainedSubscription['type'], path: string): string {
  return type === 'STREAMING' ? 'function' : path;
}

function Verdict({ of }: { readonly of: Rule }) {
  if (of.error !== undefined) return <Badge tone="bad">error</Badge>;
  if (of.holds === undefined) return <Badge tone="idle">not asked</Badge>;
  return of.holds ? <Badge tone="good">holds</Badge> : <Badge tone="idle">does not hold</Badge>;
}
