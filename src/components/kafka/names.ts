const MAX_TOPIC_LENGTH = 249;

/** Why Kafka has no topic of this name; `undefined` if it may have. */
export function topicProblem(topic: string): string | undefined {
  if (/^[A-Za-z0-9._-]{1,249}$/.test(topic) && topic !== '.' && topic !== '..') return undefined;
  const shown = JSON.stringify(topic.length > MAX_TOPIC_LENGTH ? `${topic.slice(0, MAX_TOPIC_LENGTH)}…` : topic);
  return `Kafka has no topic ${shown}: expected 1 to ${MAX_TOPIC_LENGTH} letters, digits, dots, underscores and hyphens, and neither "." nor ".."`;
}

/** The driver takes no white space in the IDs of groups and clients. */
export function idOf(name: string): string {
  return name.replace(/\s/g, (character) => encodeURIComponent(character));
}
