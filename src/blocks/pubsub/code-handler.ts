import type { CloudEvent } from 'cloudevents';
import type { DeadLetterOrigin, Delivery, Message } from '../../components/pubsub.ts';
import type { Clock } from '../../util/clock.ts';
import type { DeliverToCode } from './consumer.ts';
import { failedOutcome, type Outcome, returnedOutcome } from './outcome.ts';
import type { DeliveryContext, MessageHandler } from './subscription.ts';

/** The class of the events that functions receive. */
export type EventClass = typeof CloudEvent;

/** What a function is called with and how long it may take. */
export interface CodeHandlerOptions {
  readonly eventClass: EventClass;
  readonly clock: Clock;
  readonly timeLimitMs: number;
}

/** Turns a user's function into what a consumer calls: events as `CloudEvent`s, within the time limit. */
export function deliverToCode<T>(handler: MessageHandler<T>, options: CodeHandlerOptions): DeliverToCode {
  const { eventClass, clock, timeLimitMs } = options;
  return (event, delivery, ended) =>
    new Promise((resolve) => {
      const context = new Context(delivery);
      const settle = (outcome: Outcome): void => {
        timer.cancel();
        deaf();
        resolve(outcome);
      };
      const giveUp = (reason: Error): void => {
        context.abort(reason);
        settle(failedOutcome(reason));
      };
      const timer = clock.setTimeout(() => giveUp(new Error(`no result within ${timeLimitMs} ms`)), timeLimitMs);
      const deaf = ended.onAbort(() => giveUp(ended.reason as Error));
      void callHandler(handler, { eventClass, event }, context).then(settle);
    });
}

async function callHandler<T>(
  handler: MessageHandler<T>,
  { eventClass, event }: { readonly eventClass: EventClass; readonly event: unknown },
  context: DeliveryContext,
): Promise<Outcome> {
  try {
    return returnedOutcome(await handler(toCloudEvent<T>(eventClass, event), context));
  } catch (error) {
    return failedOutcome(error);
  }
}

/** Its signal is made on first use: a controller for every message would take a third of the delivery's time. */
class Context implements DeliveryContext {
  readonly message: Message;
  readonly attempt: number;
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  constructor({ message, attempt }: Delivery) {
    this.message = message;
    this.attempt = attempt;
  }

  get deadLetter(): DeadLetterOrigin | undefined {
    return this.message.deadLetter;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

/** Not strict: an extension may have any name and type on its way through. */
function toCloudEvent<T>(Event: EventClass, event: unknown): CloudEvent<T> {
  const { data_base64, ...attributes } = event as { readonly data_base64?: string };
  const data = data_base64 === undefined ? {} : { data: Buffer.from(data_base64, 'base64') };
  return new Event({ ...attributes, ...data } as ConstructorParameters<typeof CloudEvent<T>>[0], false);
}
