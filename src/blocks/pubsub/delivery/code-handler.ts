import type { CloudEvent } from 'cloudevents';
import type { DeadLetterOrigin, Delivery, Message } from '../../../components/pubsub.ts';
import type { CodeCall } from '../../../util/code-calls.ts';
import type { DeliverToCode } from './consumer.ts';
import { returnedOutcome } from './outcome.ts';
import type { DeliveryContext, MessageHandler } from './subscription.ts';

/** The class of the events that functions receive. */
export type EventClass = typeof CloudEvent;

/** Turns a user's function into what a consumer calls: events as `CloudEvent`s. */
export function deliverToCode<T>(handler: MessageHandler<T>, eventClass: EventClass): DeliverToCode {
  return async (event, delivery, call) =>
    returnedOutcome(await handler(toCloudEvent<T>(eventClass, event), new Context(delivery, call)));
}

class Context implements DeliveryContext {
  readonly message: Message;
  readonly attempt: number;
  readonly #call: CodeCall;

  constructor({ message, attempt }: Delivery, call: CodeCall) {
    this.message = message;
    this.attempt = attempt;
    this.#call = call;
  }

  get deadLetter(): DeadLetterOrigin | undefined {
    return this.message.deadLetter;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

/** Not strict: an extension may have any name and type on its way through. */
function toCloudEvent<T>(Event: EventClass, event: unknown): CloudEvent<T> {
  const { data_base64, ...attributes } = event as { readonly data_base64?: string };
  const data = data_base64 === undefined ? {} : { data: Buffer.from(data_base64, 'base64') };
  return new Event({ ...attributes, ...data } as ConstructorParameters<typeof CloudEvent<T>>[0], false);
}
