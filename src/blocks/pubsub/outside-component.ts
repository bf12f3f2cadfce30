import type { MessageCommits } from '../../components/message-commits.ts';
import type {
  ComponentSubscription,
  ConsumerOptions,
  Message,
  PublishFailure,
  PubSubComponent,
} from '../../components/pubsub.ts';
import type { QueueAccess } from '../../components/queue-access.ts';
import { outside } from '../../util/outside.ts';

/**
 * A component that works outside of the context of its callers: it may be the user's code, and what it opens for one
 * call, such as a connection, serves all. Its messages come from the publishes of many requests.
 */
export class OutsidePubSub implements PubSubComponent {
  readonly #component: PubSubComponent;

  constructor(component: PubSubComponent) {
    this.#component = component;
  }

  publish(messages: readonly Message[]): Promise<readonly PublishFailure[]> {
    return outside(() => this.#component.publish(messages));
  }

  async subscribe(options: ConsumerOptions): Promise<ComponentSubscription> {
    const deliver: ConsumerOptions['deliver'] = (deliveries) => outside(() => options.deliver(deliveries));
    const subscription = await outside(() => this.#component.subscribe({ ...options, deliver }));
    return {
      pause: () => outside(() => subscription.pause()),
      resume: () => outside(() => subscription.resume()),
      close: () => outside(() => subscription.close()),
    };
  }

  get queues(): QueueAccess | undefined {
    const { queues } = this.#component;
    return queues && queuesOutside(queues);
  }

  get commits(): MessageCommits | undefined {
    const { commits } = this.#component;
    return (
      commits && {
        store: commits.store,
        commitWith: (messages, batch) => outside(() => commits.commitWith(messages, batch)),
      }
    );
  }

  close(): Promise<void> {
    return outside(() => this.#component.close());
  }
}

function queuesOutside(queues: QueueAccess): QueueAccess {
  return {
    status: (topic) => outside(() => queues.status(topic)),
    abandoned: () => outside(() => queues.abandoned()),
    find: (queue, key) => outside(() => queues.find(queue, key)),
    read: (queue, read) => outside(() => queues.read(queue, read)),
    redeliver: (queue, selection, target) => outside(() => queues.redeliver(queue, selection, target)),
    discard: (queue, selection) => outside(() => queues.discard(queue, selection)),
    setPaused: (queue, isPaused) => outside(() => queues.setPaused(queue, isPaused)),
    addGroup: (queue) => outside(() => queues.addGroup(queue)),
    removeGroup: (queue) => outside(() => queues.removeGroup(queue)),
  };
}
