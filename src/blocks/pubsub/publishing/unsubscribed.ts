import type { Logger } from '../../../util/logger.ts';

/** A topic without subscribers, with the number of messages published to it. */
export interface UnsubscribedTopic {
  readonly pubsubName: string;
  readonly topic: string;
  readonly count: number;
}

/** The maximum number of topics counted; messages on further topics are not counted. */
const MAX_TOPICS = 1_000;

/**
 * Counts messages without subscribers by topic, and warns once for each topic. Every such message passes here: it only
 * adds to a number.
 */
export class Unsubscribed {
  readonly #logger: Logger;
  /** By component and topic. */
  readonly #counts = new Map<string, Map<string, { count: number }>>();
  #topics = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(pubsubName: string, topic: string, messages: number): void {
    const known = this.#counts.get(pubsubName)?.get(topic);
    if (known === undefined) this.#addFirst(pubsubName, topic, messages);
    else known.count += messages;
  }

  #addFirst(pubsubName: string, topic: string, count: number): void {
    if (this.#topics >= MAX_TOPICS) return;
    const topics = this.#counts.get(pubsubName) ?? new Map<string, { count: number }>();
    this.#counts.set(pubsubName, topics.set(topic, { count }));
    this.#topics++;
    this.#logger.warn(
      { pubsubName, topic },
      'a message was published to a topic without subscribers: it is dropped, and so are those that follow',
    );
    if (this.#topics === MAX_TOPICS)
      this.#logger.warn(
        { topics: MAX_TOPICS },
        'too many topics without subscribers: further ones are not reported and not counted',
      );
  }

  list(): readonly UnsubscribedTopic[] {
    return [...this.#counts].flatMap(([pubsubName, topics]) =>
      [...topics].map(([topic, { count }]) => ({ pubsubName, topic, count })),
    );
  }
}
