import type { Logger } from '../../../util/logger.ts';
import { Tally } from '../../../util/tally.ts';

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
  readonly #topics: Tally<{ readonly pubsubName: string; readonly topic: string }>;

  constructor(logger: Logger) {
    this.#logger = logger;
    const onFull = (): void =>
      logger.warn({ topics: MAX_TOPICS }, 'more topics without subscribers are not warned of and not counted');
    this.#topics = new Tally({ limit: MAX_TOPICS, onFull });
  }

  add(pubsubName: string, topic: string, messages: number): void {
    this.#topics.add(JSON.stringify([pubsubName, topic]), { pubsubName, topic }, messages, () =>
      this.#logger.warn(
        { pubsubName, topic },
        'a message was published to a topic that nobody subscribes to: it is gone, and so are those that follow',
      ),
    );
  }

  list(): readonly UnsubscribedTopic[] {
    return this.#topics.list();
  }
}
