import type { TopicScopes } from '../components/pubsub.ts';

/** Metadata of a pub/sub component that restricts the use of topics. */
export const TOPIC_SCOPE_NAMES = [
  'allowedTopics',
  'protectedTopics',
  'publishingScopes',
  'subscriptionScopes',
] as const;

/**
 * Reads topic scopes in Dapr's syntax: lists with commas, and `app1=topic1,topic2;app2=` by app ID. App IDs are
 * case-insensitive, so an entry for this app is stored under its own spelling.
 */
export function readTopicScopes(values: ReadonlyMap<string, string>, appId: string): TopicScopes {
  const [allowed, protectedOnes] = [values.get('allowedTopics'), values.get('protectedTopics')];
  const [publishing, subscribing] = [values.get('publishingScopes'), values.get('subscriptionScopes')];
  return {
    ...(allowed === undefined ? {} : { allowedTopics: listOf(allowed) }),
    ...(protectedOnes === undefined ? {} : { protectedTopics: listOf(protectedOnes) }),
    ...(publishing === undefined ? {} : { publishingScopes: byApp(publishing, appId) }),
    ...(subscribing === undefined ? {} : { subscriptionScopes: byApp(subscribing, appId) }),
  };
}

function listOf(text: string): string[] {
  const topics = text.split(',').map(withoutSpaces);
  return [...new Set(topics)].filter((topic) => topic !== '');
}

/** An app without `=` is not restricted; one with nothing after `=` may use no topic. */
function byApp(text: string, appId: string): Readonly<Record<string, readonly string[]>> {
  const scopes = new Map<string, readonly string[]>();
  for (const entry of text.split(';')) {
    const [name = '', topics] = splitOnce(entry);
    const app = withoutSpaces(name);
    if (topics === undefined || app === '') continue;
    scopes.set(app.toLowerCase() === appId.toLowerCase() ? appId : app, listOf(topics));
  }
  return Object.fromEntries(scopes);
}

function splitOnce(entry: string): [string, string | undefined] {
  const at = entry.indexOf('=');
  return at < 0 ? [entry, undefined] : [entry.slice(0, at), entry.slice(at + 1)];
}

function withoutSpaces(text: string): string {
  return text.replaceAll(' ', '');
}
