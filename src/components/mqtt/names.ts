import { createHash } from 'node:crypto';

/** MQTT writes the length of a text in two bytes. */
export const MAX_TEXT_BYTES = 65_535;
const MAX_PREFIX_LENGTH = 40;
const UNIQUE_LENGTH = 22;

/** Characters for which brokers may end the connection, which all publishers share (MQTT 5, section 1.5.4). */
const NOT_PLAIN = /[\p{Cc}\p{Noncharacter_Code_Point}\p{Surrogate}]/u;

/** Whether any broker carries this text in a property. */
export function isPlainText(text: string): boolean {
  return (text.length <= MAX_TEXT_BYTES / 3 || Buffer.byteLength(text) <= MAX_TEXT_BYTES) && !NOT_PLAIN.test(text);
}

function nameProblem(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (NOT_PLAIN.test(name))
    return 'it contains a control character, a noncharacter of Unicode or half of a surrogate pair';
  const bytes = Buffer.byteLength(name);
  return bytes > MAX_TEXT_BYTES ? `it has ${bytes} bytes: expected at most ${MAX_TEXT_BYTES}` : undefined;
}

/** Why nothing can be published to a topic; `undefined` if it can. */
export function publishTopicProblem(topic: string): string | undefined {
  const problem = /[+#]/.test(topic)
    ? 'it contains "+" or "#", which are wildcards of subscriptions'
    : /^\$(?:share|SYS)(?:\/|$)/i.test(topic)
      ? 'names that begin with "$share" or "$SYS" belong to the broker'
      : nameProblem(topic);
  return problem === undefined ? undefined : `MQTT cannot publish to topic ${shown(topic)}: ${problem}`;
}

/** Why a topic cannot be subscribed to; `undefined` if it can. Wildcards are allowed, a level each. */
export function filterProblem(topic: string): string | undefined {
  const levels = topic.split('/');
  const isValid = levels.every((level, index) =>
    level.includes('#') ? level === '#' && index === levels.length - 1 : !level.includes('+') || level === '+',
  );
  const problem = isValid
    ? nameProblem(topic)
    : 'the wildcard "+" stands for one whole level, and "#" for all further ones';
  return problem === undefined ? undefined : `MQTT cannot subscribe to topic ${shown(topic)}: ${problem}`;
}

/** Whether a subscription to this topic may get messages of others. */
export function isWildcard(topic: string): boolean {
  return /[+#]/.test(topic) || isShared(topic);
}

/** Whether a topic names a shared subscription itself, as Dapr's applications write it. */
function isShared(topic: string): boolean {
  return /^\$share\/[^/]+\/./.test(topic);
}

/** The filter of a shared subscription. The group's name may contain what a filter may not. */
export function sharedFilter(topic: string, group: string): string {
  return isShared(topic) ? topic : `$share/${encodeURIComponent(group)}/${topic}`;
}

function shown(topic: string): string {
  return JSON.stringify(topic.length > 200 ? `${topic.slice(0, 200)}…` : topic);
}

/** Makes a session's client ID unique; equal parts give an equal key. */
export function sessionKey(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, UNIQUE_LENGTH);
}

/** A client ID of at most 63 characters; of 22 letters and digits if the prefix is empty. */
export function clientIdOf(prefix: string, unique: string): string {
  const start = prefix.replaceAll(/[^\w.-]/g, '_').slice(0, MAX_PREFIX_LENGTH);
  const end = unique.replaceAll('-', '').slice(0, UNIQUE_LENGTH);
  return start === '' ? end : `${start}-${end}`;
}
