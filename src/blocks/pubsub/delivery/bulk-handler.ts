import type { Delivery } from '../../../components/pubsub.ts';
import type { CodeCall } from '../../../util/code-calls.ts';
import type { TopicDefinition } from '../publishing/topic.ts';
import { DataContext, type MakeDeliver, parseData, toCloudEvent } from './code-handler.ts';
import { type DeliveryOutcome, failedOutcome, retry, returnedOutcome } from './outcome.ts';
import type { ReceivedEvent } from './received-event.ts';
import type { CodeDelivery, DeliverBatchToCode } from './send-to-code.ts';
import type { TopicContext } from './subscription.ts';

/** One message of a batch, as the function of a bulk subscription gets it. @public */
export interface BulkSubscribeEntry<T = unknown> extends Omit<TopicContext, 'signal'> {
  /** The data, as the schema of the topic makes them. */
  readonly data: T;
}

/** The second argument of the function of a bulk subscription. @public */
export interface BulkContext {
  /** Fires as that of a single delivery does, see {@link DeliveryContext.signal}. */
  readonly signal: AbortSignal;
}

/**
 * Processes a batch in code. Its result, also as a promise, decides:
 *
 * - a list with one element for each message, in their order: an element means what the result of {@link MessageHandler}
 *   does, and an element of `Promise.allSettled` is a success or a failure;
 * - a status of processing or an `Error`, which counts as thrown: it is the outcome of all messages;
 * - anything else, or nothing: all messages are done.
 *
 * @public
 */
export type BulkHandler<T> = (entries: readonly BulkSubscribeEntry<T>[], context: BulkContext) => unknown;

/** For a function that receives batches. Messages whose data do not fit the schema are not in them. */
export function deliverBatches<T>(
  topic: Pick<TopicDefinition<unknown, T>, 'name' | 'schema'>,
  handler: BulkHandler<T>,
): MakeDeliver {
  return (eventClass) => {
    const parse = async ({ delivery, read }: CodeDelivery, call: CodeCall): Promise<Entry<T> | DeliveryOutcome> => {
      try {
        const parsed = await parseData(topic, read);
        if ('outcome' in parsed) return parsed.outcome;
        const { data, event } = parsed;
        return new Entry(data, delivery, call, () => toCloudEvent(eventClass, event));
      } catch (error) {
        return failedOutcome(error);
      }
    };
    const deliverBatch: DeliverBatchToCode = async (batch, call) => {
      const parsed = await Promise.all(batch.map((one) => parse(one, call)));
      const entries = parsed.filter((one) => one instanceof Entry);
      const outcomes = entries.length === 0 ? [] : outcomesOf(await handler(entries, new Signal(call)), entries.length);
      const rest = outcomes.values();
      return parsed.map((one) => (one instanceof Entry ? (rest.next().value ?? retry('no outcome')) : one));
    };
    return { deliverBatch };
  };
}

class Entry<T> extends DataContext implements BulkSubscribeEntry<T> {
  readonly data: T;

  constructor(data: T, delivery: Delivery, call: CodeCall, makeEvent: () => ReceivedEvent) {
    super(delivery, call, makeEvent);
    this.data = data;
  }
}

/** Makes the signal when it is asked for, as a single delivery does. */
class Signal implements BulkContext {
  readonly #call: CodeCall;

  constructor(call: CodeCall) {
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

/** What the result of a function means for each of `count` messages. */
function outcomesOf(result: unknown, count: number): readonly DeliveryOutcome[] {
  if (!Array.isArray(result)) return new Array<DeliveryOutcome>(count).fill(returnedOutcome(result));
  const outcomes = result.map(elementOutcome);
  if (outcomes.length === count) return outcomes;
  // Such as the rows of an INSERT. But which messages do the failures mean?
  const areDone = outcomes.every(({ kind }) => kind === 'success');
  const outcome = areDone
    ? returnedOutcome(undefined)
    : retry(`the function returned ${result.length} outcomes for ${count} messages`);
  return new Array<DeliveryOutcome>(count).fill(outcome);
}

/** One element of a list; it may be one of `Promise.allSettled`. */
function elementOutcome(element: unknown): DeliveryOutcome {
  const { status, value, reason } = Object(element) as Partial<PromiseRejectedResult & PromiseFulfilledResult<unknown>>;
  if ((status as string) === 'fulfilled') return returnedOutcome(value);
  return status === 'rejected' ? failedOutcome(reason) : returnedOutcome(element);
}
