import type { ComponentContext } from '../component.ts';
import type {
  ComponentSubscription,
  Message,
  PublishFailure,
  PubSubComponent,
  PubSubDefinition,
  SubscribeOptions,
  TopicScopes,
} from '../pubsub.ts';
import { type BrokerLimits, MemoryBroker } from './broker.ts';

/** Options of {@link memoryPubSub}. @public */
export interface MemoryPubSubOptions extends TopicScopes {
  /** App IDs that may use the component. Default: all. */
  readonly scopes?: readonly string[];
  /** The most messages that wait or are in flight, counted once per group. Default 100,000. */
  readonly maxMessages?: number;
  /** The most bytes of their data. Default 256 MiB. */
  readonly maxBytes?: number;
}

const DEFAULT_LIMITS: BrokerLimits = { maxMessages: 100_000, maxBytes: 256 * 1024 * 1024 };

/**
 * A pub/sub component in the memory of this process: nothing survives the process.
 *
 * Every app ID that subscribes to a topic is a group that receives every message published from then on; a message is
 * kept for the group until it is settled, also while nobody consumes it. Sidecars that are given the same definition
 * share its topics. When the limits are reached, groups without consumers are dropped with a warning; when that is not
 * enough, publishing fails until messages have been settled.
 *
 * @param name - by which requests address it; not `bulk`
 * @public
 */
export function memoryPubSub(name: string, options: MemoryPubSubOptions = {}): PubSubDefinition {
  const { scopes, maxMessages = DEFAULT_LIMITS.maxMessages, maxBytes = DEFAULT_LIMITS.maxBytes, ...topics } = options;
  const broker = new MemoryBroker({ maxMessages, maxBytes });
  return {
    name,
    type: 'pubsub.in-memory',
    version: 'v1',
    topics,
    ...(scopes === undefined ? {} : { scopes }),
    open: async (context) => new MemoryPubSub(broker, context),
  };
}

/** One sidecar's access to a broker. */
class MemoryPubSub implements PubSubComponent {
  readonly #broker: MemoryBroker;
  readonly #context: ComponentContext;
  readonly #subscriptions = new Set<ComponentSubscription>();
  #closed = false;

  constructor(broker: MemoryBroker, context: ComponentContext) {
    this.#broker = broker;
    this.#context = context;
  }

  publish(messages: readonly Message[]): Promise<readonly PublishFailure[]> {
    return this.#closed ? Promise.reject(closedError()) : this.#broker.publish(messages, this.#context.logger);
  }

  async subscribe(options: SubscribeOptions): Promise<ComponentSubscription> {
    if (this.#closed) throw closedError();
    const subscription = this.#broker.subscribe(options, this.#context.clock);
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    this.#subscriptions.clear();
  }
}

function closedError(): Error {
  return new Error('the component is closed');
}
