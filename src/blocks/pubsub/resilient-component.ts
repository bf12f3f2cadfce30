import type { MessageCommits } from '../../components/message-commits.ts';
import type {
  ComponentSubscription,
  ConsumerOptions,
  Message,
  PublishFailure,
  PubSubComponent,
} from '../../components/pubsub.ts';
import type { QueueAccess } from '../../components/queue-access.ts';
import { isError, messageOf } from '../../errors.ts';
import type { Policy } from '../../resiliency/policy.ts';
import { CancelSource } from '../../util/cancel-token.ts';

/** A component whose publishes follow a policy, including dead letters. */
export class ResilientPubSub implements PubSubComponent {
  readonly #component: PubSubComponent;
  readonly #policy: Policy;
  readonly #closing = new CancelSource();

  constructor(component: PubSubComponent, policy: Policy) {
    this.#component = component;
    this.#policy = policy;
  }

  /** Publishes several messages; a retry publishes only those that failed. */
  async publish(messages: readonly Message[]): Promise<readonly PublishFailure[]> {
    let pending = messages.map((message, index) => ({ message, index }));
    try {
      return await this.#policy.run(
        this.#closing,
        async (cancelToken) => {
          const sent = pending;
          const failures = await this.#component.publish(sent.map(({ message }) => message));
          // Timed out: the next attempt may be in progress.
          if (cancelToken.aborted) throw cancelToken.reason;
          pending = failures.flatMap(({ index }) => sent[index] ?? []);
          return failures.map((failure) => ({ ...failure, index: sent[failure.index]?.index ?? failure.index }));
        },
        (outcome) => ('value' in outcome && outcome.value.length === 0 ? 'success' : 'retry'),
      );
    } catch (cause) {
      // A rejection would mean that no message was published.
      if (pending.length === messages.length) throw cause;
      const error = isError(cause) ? cause : new Error(messageOf(cause));
      return pending.map(({ index }) => ({ index, error }));
    }
  }

  subscribe(options: ConsumerOptions): Promise<ComponentSubscription> {
    return this.#component.subscribe(options);
  }

  get queues(): QueueAccess | undefined {
    return this.#component.queues;
  }

  /** These commits follow the policy of the store that is written. */
  get commits(): MessageCommits | undefined {
    return this.#component.commits;
  }

  close(): Promise<void> {
    this.#closing.abort(new Error('the sidecar is stopping'));
    return this.#component.close();
  }
}
