import { LruCache } from '../util/lru.ts';

/**
 * The wildcards of topics that are subscribed to. `suffix`: a final `*` stands for one character or more, as in Dapr's
 * in-memory component. `mqtt`: `+` for one level between slashes, `#` for all further ones. `nats`: `*` for one part
 * between dots, `>` for all further ones. @public
 */
export type TopicWildcards = 'suffix' | 'mqtt' | 'nats';

export const TOPIC_WILDCARDS: readonly TopicWildcards[] = ['suffix', 'mqtt', 'nats'];

/** Topics whose matches are remembered. */
const MAX_REMEMBERED = 1_000;
const NONE: readonly string[] = [];

/** How parts of topics are separated, and what stands for one and for all further ones. */
interface Levels {
  readonly separator: string;
  readonly one: string;
  readonly rest: string;
  /** Whether `rest` stands for no part as well: `a/#` matches `a`. */
  readonly mayBeEmpty: boolean;
}

const LEVELS: Readonly<Record<Exclude<TopicWildcards, 'suffix'>, Levels>> = {
  mqtt: { separator: '/', one: '+', rest: '#', mayBeEmpty: true },
  nats: { separator: '.', one: '*', rest: '>', mayBeEmpty: false },
};

/** The subscribed topics of a component that have wildcards. */
export class TopicPatterns {
  readonly #wildcards: TopicWildcards;
  readonly #patterns = new Set<string>();
  /** By topic. */
  readonly #remembered = new LruCache<readonly string[]>(MAX_REMEMBERED);

  constructor(wildcards: TopicWildcards) {
    this.#wildcards = wildcards;
  }

  /** Whether a subscribed topic has wildcards. */
  isPattern(topic: string): boolean {
    return isPattern(topic, this.#wildcards);
  }

  /** Adds a subscribed topic, if it has wildcards. */
  add(topic: string): void {
    if (this.#patterns.has(topic) || !this.isPattern(topic)) return;
    this.#patterns.add(topic);
    this.#remembered.take();
  }

  delete(topic: string): void {
    if (this.#patterns.delete(topic)) this.#remembered.take();
  }

  /** The patterns that a topic matches; none of them is the topic itself. */
  of(topic: string): readonly string[] {
    if (this.#patterns.size === 0) return NONE;
    return this.#remembered.getOrMake(topic, () =>
      [...this.#patterns].filter((pattern) => pattern !== topic && this.matches(pattern, topic)),
    );
  }

  /** Whether a subscribed topic receives what is published to another one. */
  matches(pattern: string, topic: string): boolean {
    if (pattern === topic) return true;
    if (!isPattern(pattern, this.#wildcards)) return false;
    if (this.#wildcards === 'suffix') return topic.length >= pattern.length && topic.startsWith(pattern.slice(0, -1));
    return matchesLevels(pattern, topic, LEVELS[this.#wildcards]);
  }
}

function isPattern(topic: string, wildcards: TopicWildcards): boolean {
  if (wildcards === 'suffix') return topic.endsWith('*');
  const { separator, one, rest } = LEVELS[wildcards];
  return topic.split(separator).some((level) => level === one || level === rest);
}

function matchesLevels(pattern: string, topic: string, { separator, one, rest, mayBeEmpty }: Levels): boolean {
  const [wanted, given] = [pattern.split(separator), topic.split(separator)];
  // As brokers of MQTT do: topics of their own are found by name only.
  if (separator === '/' && topic.startsWith('$') && (wanted[0] === one || wanted[0] === rest)) return false;
  for (const [index, level] of wanted.entries()) {
    if (level === rest && index === wanted.length - 1) return mayBeEmpty || given.length > index;
    if (index >= given.length || (level !== one && level !== given[index])) return false;
  }
  return wanted.length === given.length;
}
