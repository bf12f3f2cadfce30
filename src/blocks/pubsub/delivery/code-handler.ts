import type { CloudEvent } from 'cloudevents';
import type { DeadLetterOrigin, Delivery, Message } from '../../../components/pubsub.ts';
import type { CodeCall } from '../../../util/code-calls.ts';
import { noEvent, returnedOutcome } from './outcome.ts';
import type { DeliverToCode } from './send-to-code.ts';
import type { DeliveryContext, MessageHandler } from './subscription.ts';

/** The class of the events that functions receive. */
export type EventClass = typeof CloudEvent;

/** Turns a user's function into what a consumer calls: events as `CloudEvent`s. */
export function deliverToCode<T>(handler: MessageHandler<T>, eventClass: EventClass): DeliverToCode {
  return async (read, delivery, call) => {
    let event: CloudEvent<T>;
    try {
      event = toCloudEvent<T>(eventClass, read());
    } catch (error) {
      return noEvent(error);
    }
    return returnedOutcome(await handler(event, new Context(delivery, call)));
  };
}

class Context implements DeliveryContext {
  readonly attempt: number;
  readonly #message: Message;
  readonly #call: CodeCall;
  #copy: Message | undefined;

  constructor({ message, attempt }: Delivery, call: CodeCall) {
    this.#message = message;
    this.attempt = attempt;
    this.#call = call;
  }

  /** A copy, made when it is asked for: other groups and later attempts get the same bytes. */
  get message(): Message {
    this.#copy ??= { ...this.#message, data: Buffer.from(this.#message.data) };
    return this.#copy;
  }

  get deadLetter(): DeadLetterOrigin | undefined {
    return this.#message.deadLetter;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

/**
 * Not strict: an extension may have any name and type on its way through. Those with the name of a method are left out,
 * since they would hide it; `__proto__` would hide all.
 */
function toCloudEvent<T>(Event: EventClass, event: unknown): CloudEvent<T> {
  const { data_base64, ...attributes } = event as Record<string, unknown>;
  for (const name of Object.keys(attributes)) if (name in Event.prototype) delete attributes[name];
  const data = typeof data_base64 === 'string' ? { data: Buffer.from(data_base64, 'base64') } : {};
  return new Event({ ...attributes, ...data } as ConstructorParameters<typeof CloudEvent<T>>[0], false);
}
