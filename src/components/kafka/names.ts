const MAX_TOPIC_LENGTH = 249;
/** Topics in which brokers keep what they need. */
const INTERNAL = /^__(?:consumer_offsets|transaction_state|share_group_state|cluster_metadata|remote_log_metadata)$/;

/** Why applications cannot use a topic of this name; `undefined` if they may. */
export function topicProblem(topic: string): string | undefined {
  if (INTERNAL.test(topic)) return `the topic ${topic} belongs to Kafka`;
  if (/^[A-Za-z0-9._-]{1,249}$/.test(topic) && topic !== '.' && topic !== '..') return undefined;
  const shown = JSON.stringify(topic.length > MAX_TOPIC_LENGTH ? `${topic.slice(0, MAX_TOPIC_LENGTH)}…` : topic);
  return `Kafka has no topic ${shown}: expected 1 to ${MAX_TOPIC_LENGTH} letters, digits, dots, underscores and hyphens, and neither "." nor ".."`;
}

/** The driver takes no white space in the IDs of groups and clients. */
export function idOf(name: string): string {
  return name.replace(/\s/g, (character) => encodeURIComponent(character));
}
