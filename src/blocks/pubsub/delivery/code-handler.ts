import type { CloudEvent } from 'cloudevents';
import type { DeadLetterOrigin, Delivery, Message } from '../../../components/pubsub.ts';
import type { CodeCall } from '../../../util/code-calls.ts';
import { isPromise, parseWith } from '../../../util/standard-schema.ts';
import type { TopicDefinition } from '../publishing/topic.ts';
import { type DeliveryOutcome, drop, noEvent, returnedOutcome } from './outcome.ts';
import type { ReceivedEvent } from './received-event.ts';
import type { CodeFunction, DeliverToCode } from './send-to-code.ts';
import type { DeliveryContext, MessageHandler, TopicContext, TopicHandler } from './subscription.ts';

/** The class of the events that functions receive. */
export type EventClass = typeof CloudEvent;

/** Makes what a consumer calls of a user's function, once the class of events is loaded. */
export type MakeDeliver = (eventClass: EventClass) => CodeFunction;

/** For a function that receives events. */
export function deliverEvents<T>(handler: MessageHandler<T>): MakeDeliver {
  return (eventClass) => {
    const deliver: DeliverToCode = async (read, delivery, call) => {
      let event: ReceivedEvent<T>;
      try {
        event = toCloudEvent<T>(eventClass, read());
      } catch (error) {
        return noEvent(error);
      }
      return returnedOutcome(await handler(event, new Context(delivery, call)));
    };
    return { deliver };
  };
}

/** For a function that receives the data of a topic, as its schema makes them. Data that do not fit never will. */
export function deliverData<T>(topic: TopicDefinition<unknown, T>, handler: TopicHandler<T>): MakeDeliver {
  return (eventClass) => {
    const deliver: DeliverToCode = async (read, delivery, call) => {
      const parsed = parseData(topic, read);
      const found = isPromise(parsed) ? await parsed : parsed;
      if ('outcome' in found) return found.outcome;
      const { data, event } = found;
      return returnedOutcome(
        await handler(data, new DataContext(delivery, call, () => toCloudEvent(eventClass, event))),
      );
    };
    return { deliver };
  };
}

/** The event of a message and its data as a schema makes them, or the outcome of a message that has none. */
export type ParsedData<T> = { readonly event: object; readonly data: T } | { readonly outcome: DeliveryOutcome };

/** Parses the data of a message; without a schema, they are as they came. */
export function parseData<T>(
  { name, schema }: Pick<TopicDefinition<unknown, T>, 'name' | 'schema'>,
  read: () => unknown,
): ParsedData<T> | Promise<ParsedData<T>> {
  let event: object;
  try {
    event = Object(read());
  } catch (error) {
    return { outcome: noEvent(error) };
  }
  const failed = (error: unknown): ParsedData<T> => {
    if (error instanceof Misfit) return { outcome: misfit(name, error.message) };
    // The schema itself has failed: another attempt may succeed.
    throw error;
  };
  try {
    const parsed = parseWith(schema, dataOf(event), (problem) => new Misfit(problem));
    if (isPromise(parsed)) return parsed.then((data) => ({ event, data }), failed);
    return { event, data: parsed };
  } catch (error) {
    return failed(error);
  }
}

class Misfit extends Error {}

function misfit(topic: string, problem: string): DeliveryOutcome {
  return drop('error', `the data of topic ${JSON.stringify(topic)} ${problem}`);
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

/** Makes the event when it is asked for: that takes longer than all else. */
export class DataContext extends Context implements TopicContext {
  readonly #makeEvent: () => ReceivedEvent;
  #event: ReceivedEvent | undefined;

  constructor(delivery: Delivery, call: CodeCall, makeEvent: () => ReceivedEvent) {
    super(delivery, call);
    this.#makeEvent = makeEvent;
  }

  get event(): ReceivedEvent {
    this.#event ??= this.#makeEvent();
    return this.#event;
  }
}

function dataOf(event: object): unknown {
  const { data, data_base64 } = event as { readonly data?: unknown; readonly data_base64?: unknown };
  return typeof data_base64 === 'string' ? Buffer.from(data_base64, 'base64') : data;
}

/**
 * Not strict: an extension may have any name and type on its way through. Those with the name of a method are left out,
 * since they would hide it; `__proto__` would hide all.
 */
export function toCloudEvent<T>(Event: EventClass, event: unknown): ReceivedEvent<T> {
  const { data_base64, ...attributes } = event as Record<string, unknown>;
  for (const name of Object.keys(attributes)) if (name in Event.prototype) delete attributes[name];
  const data = typeof data_base64 === 'string' ? { data: Buffer.from(data_base64, 'base64') } : {};
  const made = new Event({ ...attributes, ...data } as ConstructorParameters<typeof CloudEvent<T>>[0], false);
  return made as unknown as ReceivedEvent<T>;
}
