import type { Logger } from '../../../util/logger.ts';
import type { DeliveryOutcome } from './outcome.ts';
import type { SubscriptionSpec } from './subscription.ts';

/** Logs a hint, once per subscription, when its function returns a text that is no status, such as `OK`. */
export class ReturnHint {
  readonly #spec: SubscriptionSpec;
  readonly #logger: Logger;
  #isOver = false;

  constructor(spec: SubscriptionSpec, logger: Logger) {
    this.#spec = spec;
    this.#logger = logger;
  }

  /** Looks at the outcome of a call. */
  observe(outcome: DeliveryOutcome): void {
    if (outcome.kind !== 'success' || outcome.meaningless === undefined || this.#isOver) return;
    this.#isOver = true;
    const { pubsubName, topic } = this.#spec;
    this.#logger.warn(
      { pubsubName, topic },
      `the function of a subscription returned ${shownText(outcome.meaningless)}, which is none of SUCCESS, RETRY and DROP: the message is done. Return nothing, or one of these`,
    );
  }
}

/** A single word; anything else may be the data of a user. */
function shownText(text: string): string {
  return /^[A-Za-z_-]{1,20}$/.test(text) ? JSON.stringify(text) : `a text of ${text.length} characters`;
}
