import type { TopicScopes } from '../../components/pubsub.ts';

/** Whether an app may publish to a topic. */
export function mayPublish(topic: string, appId: string, scopes: TopicScopes): boolean {
  return isAllowed(topic, ownEntry(scopes.publishingScopes, appId), scopes);
}

/** Whether an app may subscribe to a topic. */
export function maySubscribe(topic: string, appId: string, scopes: TopicScopes): boolean {
  return isAllowed(topic, ownEntry(scopes.subscriptionScopes, appId), scopes);
}

function ownEntry(
  scopes: Readonly<Record<string, readonly string[]>> | undefined,
  appId: string,
): readonly string[] | undefined {
  return scopes !== undefined && Object.hasOwn(scopes, appId) ? scopes[appId] : undefined;
}

/** A listed app may use its listed topics; other apps may use every topic that is not protected. */
function isAllowed(topic: string, listed: readonly string[] | undefined, scopes: TopicScopes): boolean {
  const { allowedTopics = [], protectedTopics = [] } = scopes;
  if (allowedTopics.length > 0 && !allowedTopics.includes(topic)) return false;
  if (listed === undefined) return !protectedTopics.includes(topic);
  return listed.includes(topic);
}
