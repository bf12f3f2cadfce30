import { createHash } from 'node:crypto';

/** Characters that a subject cannot hold, and those that would be ambiguous beside their replacement. */
const NOT_IN_SUBJECTS = /%(?=[01][0-9A-F]|2[045AE]|3E|7F)|[\0-\x20\x7f]|^\$|^\.|\.(?=\.|$)|(?<=^|\.)[*>](?=\.|$)/g;
const REPLACED = /%([01][0-9A-F]|2[045AE]|3E|7F)/g;
const NOT_IN_NAMES = /[^A-Za-z0-9_-]/gu;
const MAX_NAME_LENGTH = 200;
const CUT_NAME_LENGTH = 160;

/** The longest subject: the server ends connections that send a longer line. */
export const MAX_SUBJECT_BYTES = 3_000;

/**
 * The subject of a topic: the topic itself if it is a subject that anybody may use. Otherwise these characters become
 * `%` and two hexadecimal digits: white space and control characters; a dot at either end or before another dot; `*` and
 * `>` as a whole token; a leading `$`, which belongs to the server; and `%` before two digits that stand for one of
 * these. So two topics never have the same subject.
 */
export function subjectOf(topic: string): string {
  return topic.replace(NOT_IN_SUBJECTS, (character) => `%${hexOf(character.charCodeAt(0))}`);
}

/** The topic of a subject, the reverse of {@link subjectOf}. */
export function topicOf(subject: string): string {
  return subject.replace(REPLACED, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/**
 * The filter of a subscription to a topic: its subject, in which `*` stands for any token and `>` at the end for one or
 * more, as in Dapr.
 */
export function filterOf(topic: string): string {
  const tokens = subjectOf(topic)
    .split('.')
    .map((token) => (token === '%2A' ? '*' : token));
  if (tokens.at(-1) === '%3E') tokens[tokens.length - 1] = '>';
  return tokens.join('.');
}

/** Why applications have nothing to do with a topic. Those that begin with `$` are other subjects: see `subjectOf`. */
export function topicProblem(topic: string): string | undefined {
  return /^_INBOX(?:\.|$)/.test(topic) ? 'subjects below "_INBOX" belong to the answers of other clients' : undefined;
}

/** Whether a subscription to this topic gets messages of others. */
export function isWildcard(topic: string): boolean {
  return filterOf(topic) !== subjectOf(topic);
}

/** The durable consumer of a group on a topic. */
export function consumerNameOf(group: string, topic: string): string {
  return nameOf(`${encoded(group)}@${encoded(topic)}`);
}

/** The stream that is created for a topic. */
export function streamNameOf(topic: string): string {
  return nameOf(`insidecar-${encoded(topic)}`);
}

/**
 * Names of streams and consumers hold less than subjects, and are names of directories. No `%`: servers use names as
 * format strings, and then publish about them on subjects that cannot be parsed.
 */
function encoded(text: string): string {
  return text.replace(NOT_IN_NAMES, (character) =>
    [...Buffer.from(character)].map((byte) => `=${hexOf(byte)}`).join(''),
  );
}

function nameOf(text: string): string {
  if (text.length <= MAX_NAME_LENGTH) return text;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 32);
  return `${text.slice(0, CUT_NAME_LENGTH)}~${hash}`;
}

function hexOf(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}
