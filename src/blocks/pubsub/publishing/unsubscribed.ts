import type { Logger } from '../../../util/logger.ts';

/** A topic without subscribers, and how many messages it has got. */
export interface UnsubscribedTopic {
  readonly pubsubName: string;
  readonly topic: string;
  readonly count: number;
}

/** So many topics are told apart; what goes to others is not counted. */
const MAX_TOPICS = 1_000;

/** Counts messages that went to nobody, by topic, and warns of each topic once. */
export class Unsubscribed {
  readonly #logger: Logger;
  readonly #topics = new Map<string, UnsubscribedTopic>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(pubsubName: string, topic: string, messages: number): void {
    const key = JSON.stringify([pubsubName, topic]);
    const present = this.#topics.get(key);
    if (present === undefined && this.#topics.size >= MAX_TOPICS) return;
    this.#topics.set(key, { pubsubName, topic, count: (present?.count ?? 0) + messages });
    if (present !== undefined) return;
    this.#logger.warn(
      { pubsubName, topic },
      'a message was published to a topic that nobody subscribes to: it is gone, and so are those that follow',
    );
    if (this.#topics.size === MAX_TOPICS)
      this.#logger.warn({ topics: MAX_TOPICS }, 'more topics without subscribers are not warned of and not counted');
  }

  list(): readonly UnsubscribedTopic[] {
    return [...this.#topics.values()];
  }
}
