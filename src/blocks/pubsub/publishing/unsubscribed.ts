import type { Logger } from '../../../util/logger.ts';
import { Tally } from '../../../util/tally.ts';

/** A topic without subscribers, with the number of messages published to it. */
export interface UnsubscribedTopic {
  readonly pubsubName: string;
  readonly topic: string;
  readonly count: number;
}

/** The maximum number of topics counted; messages on further topics are not counted. */
const MAX_TOPICS = 1_000;

/** Counts messages without subscribers by topic, and warns once for each topic. */
export class Unsubscribed {
  readonly #logger: Logger;
  readonly #topics: Tally<{ readonly pubsubName: string; readonly topic: string }>;

  constructor(logger: Logger) {
    this.#logger = logger;
    const onFull = (): void =>
      logger.warn(
        { topics: MAX_TOPICS },
        'too many topics without subscribers: further ones are not reported and not counted',
      );
    this.#topics = new Tally({ limit: MAX_TOPICS, onFull });
  }

  add(pubsubName: string, topic: string, messages: number): void {
    this.#topics.add(JSON.stringify([pubsubName, topic]), { pubsubName, topic }, messages, () =>
      this.#logger.warn(
        { pubsubName, topic },
        'a message was published to a topic without subscribers: it is dropped, and so are those that follow',
      ),
    );
  }

  list(): readonly UnsubscribedTopic[] {
    return this.#topics.list();
  }
}
