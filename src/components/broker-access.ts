import type { ComponentContext } from './component.ts';
import type { MessageCommits } from './message-commits.ts';
import type { ComponentSubscription, ConsumerOptions, Message, PublishFailure, PubSubComponent } from './pubsub.ts';
import type { QueueAccess } from './queue-access.ts';

/** Stores the messages of a component for all sidecars that use it. */
export interface Broker {
  publish(messages: readonly Message[], context: ComponentContext): Promise<readonly PublishFailure[]>;
  subscribe(options: ConsumerOptions, context: ComponentContext): Promise<ComponentSubscription>;
  /** Access to the queues. */
  readonly queues: QueueAccess;
  /** Publishes messages in commits of others. Absent: it does not keep them in a state store. */
  commitsFor?(context: ComponentContext): MessageCommits;
  /** Resolves once every settlement is recorded or has failed. */
  flushed(): Promise<void>;
  /** A sidecar no longer uses the broker. */
  left(context: ComponentContext): void;
}

/** One sidecar's access to a broker: ends with the sidecar, while the broker serves others. */
export class BrokerAccess implements PubSubComponent {
  readonly #broker: Broker;
  readonly #context: ComponentContext;
  readonly #subscriptions = new Set<ComponentSubscription>();
  #closed = false;

  constructor(broker: Broker, context: ComponentContext) {
    this.#broker = broker;
    this.#context = context;
  }

  publish(messages: readonly Message[]): Promise<readonly PublishFailure[]> {
    return this.#closed ? Promise.reject(closedError()) : this.#broker.publish(messages, this.#context);
  }

  get queues(): QueueAccess {
    return this.#broker.queues;
  }

  get commits(): MessageCommits | undefined {
    const commits = this.#broker.commitsFor?.(this.#context);
    return (
      commits && {
        store: commits.store,
        commitWith: async (messages, batch) => (this.#closed ? undefined : commits.commitWith(messages, batch)),
      }
    );
  }

  async subscribe(options: ConsumerOptions): Promise<ComponentSubscription> {
    if (this.#closed) throw closedError();
    const subscription = await this.#broker.subscribe(options, this.#context);
    if (this.#closed) {
      // Otherwise it would go on taking messages from others that share the broker.
      await subscription.close();
      throw closedError();
    }
    this.#subscriptions.add(subscription);
    const close = async (): Promise<void> => {
      this.#subscriptions.delete(subscription);
      await subscription.close();
      await this.#broker.flushed();
    };
    return { pause: () => subscription.pause(), resume: () => subscription.resume(), close };
  }

  async close(): Promise<void> {
    if (!this.#closed) this.#broker.left(this.#context);
    this.#closed = true;
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    this.#subscriptions.clear();
    await this.#broker.flushed();
  }
}

function closedError(): Error {
  return new Error('the component is closed');
}
