import type { Logger } from '../../../util/logger.ts';
import { CLOUD_EVENT_TYPE } from '../publishing/content-type.ts';
import type { SubscriptionSpec } from './subscription.ts';

/** After so many answers of 500 from the start, the parser may be the reason. */
const FAILURES = 3;
const HOW =
  "Express: express.json({ type: ['application/json', 'application/*+json'] }); NestJS: app.useBodyParser('json', …) with the same type; Fastify: app.addContentTypeParser('application/cloudevents+json', …). More in docs/frameworks.md";

/**
 * Logs a hint, once per subscription, when the application answers 415 to its first message or 500 to its first three:
 * body parsers must be configured to take the content type of messages.
 */
export class ParserHint {
  readonly #spec: SubscriptionSpec;
  readonly #logger: Logger;
  #failures = 0;
  #isOver: boolean;

  constructor(spec: SubscriptionSpec, logger: Logger) {
    this.#spec = spec;
    this.#logger = logger;
    // A raw payload has the publisher's content type.
    this.#isOver = spec.rawPayload;
  }

  /** Looks at the answer to a message. */
  observe(status: number): void {
    if (this.#isOver) return;
    if (status === 500 && ++this.#failures < FAILURES) return;
    this.#isOver = true;
    if (status === 415)
      this.#warn(`the application answers 415: messages are ${CLOUD_EVENT_TYPE}, which its body parser does not take`);
    if (status === 500)
      this.#warn(
        `the application has answered 500 to every message so far. If its handler finds no body: messages are ${CLOUD_EVENT_TYPE}, which body parsers must be configured to accept`,
      );
  }

  #warn(message: string): void {
    const { pubsubName, topic } = this.#spec;
    this.#logger.warn({ pubsubName, topic }, `${message}. ${HOW}`);
  }
}
