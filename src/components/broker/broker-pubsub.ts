import { messageOf } from '../../errors.ts';
import { type Duration, msOf } from '../../util/duration.ts';
import { Expected } from '../../util/expected.ts';
import type { ComponentContext } from '../component.ts';
import type {
  ComponentSubscription,
  ConsumerOptions,
  Message,
  PublishFailure,
  PubSubComponent,
  PubSubDefinition,
  TopicScopes,
} from '../pubsub.ts';
import { BrokerGroup } from './broker-group.ts';
import { type Deadline, Deadlines } from './deadlines.ts';
import type { Line, LineOptions, LineReceiver } from './line.ts';

/** A sidecar's access to a broker. It connects in the background and reconnects by itself. */
export interface BrokerClient<Handle> {
  /** For messages: the technology and the address, without credentials. */
  readonly name: string;
  /** Why there is no connection to the broker, for the error of a publish that waits for it in vain. */
  readonly failure?: string | undefined;
  /**
   * Resolves once the broker has confirmed the messages. Waits for the connection while there is none; messages that
   * are not sent when the deadline is over are never sent.
   */
  publish(messages: readonly Message[], deadline: Deadline): Promise<readonly PublishFailure[]>;
  /** Creates the group if it does not exist, and begins to consume. Rejects if the broker does not respond. */
  openLine(options: LineOptions, receiver: LineReceiver<Handle>): Promise<Line<Handle>>;
  /** Ends the connections. All lines are closed before. */
  close(): Promise<void>;
}

/** Options that all components on brokers have. @public */
export interface BrokerOptions extends TopicScopes {
  /** App IDs that may use the component. Default: all. */
  readonly scopes?: readonly string[] | undefined;
  /**
   * The time limit of a publish, reconnecting included. If it is over, the publish fails, though the
   * broker may have the message. Default `5s`.
   */
  readonly publishTimeout?: Duration | undefined;
}

/** The parts that a technology defines. */
export interface BrokerDeps<Handle> {
  readonly name: string;
  /** Such as `pubsub.redis`. */
  readonly type: string;
  /** Checked by `checkBrokerOptions`. */
  readonly options: BrokerOptions;
  readonly topicProblem?: PubSubDefinition['topicProblem'];
  readonly limits?: PubSubDefinition['limits'];
  /** Makes the client. Must not wait for the broker. */
  readonly connect: (context: ComponentContext) => BrokerClient<Handle> | Promise<BrokerClient<Handle>>;
}

export const DEFAULT_PUBLISH_TIMEOUT_MS = 5_000;

/** The definition of a pub/sub component on a broker. */
export function brokerDefinition<Handle>(deps: BrokerDeps<Handle>): PubSubDefinition {
  const { name, type, options, topicProblem, limits, connect } = deps;
  const { scopes, publishTimeout = DEFAULT_PUBLISH_TIMEOUT_MS } = options;
  const { publishingScopes, subscriptionScopes, allowedTopics, protectedTopics } = options;
  return {
    name,
    type,
    version: 'v1',
    topics: {
      ...(publishingScopes === undefined ? {} : { publishingScopes }),
      ...(subscriptionScopes === undefined ? {} : { subscriptionScopes }),
      ...(allowedTopics === undefined ? {} : { allowedTopics }),
      ...(protectedTopics === undefined ? {} : { protectedTopics }),
    },
    ...(scopes === undefined ? {} : { scopes }),
    ...(topicProblem === undefined ? {} : { topicProblem }),
    ...(limits === undefined ? {} : { limits }),
    // Groups belong to the broker: nothing is kept for applications that are still to come.
    expected: new Expected(),
    open: async (context) => new BrokerPubSub(await connect(context), context, msOf(publishTimeout)),
  };
}

/** A pub/sub component on a broker, for one sidecar. */
export class BrokerPubSub<Handle> implements PubSubComponent {
  readonly #client: BrokerClient<Handle>;
  readonly #context: ComponentContext;
  readonly #deadlines: Deadlines;
  /** By topic and group. */
  readonly #groups = new Map<string, BrokerGroup<Handle>>();
  readonly #subscriptions = new Set<ComponentSubscription>();
  #closed: Promise<void> | undefined;

  constructor(client: BrokerClient<Handle>, context: ComponentContext, publishTimeoutMs: number) {
    this.#client = client;
    this.#context = context;
    this.#deadlines = new Deadlines(publishTimeoutMs, (limitMs) => {
      const reason = client.failure === undefined ? '' : `: ${client.failure}`;
      return new Error(`${client.name} did not confirm the message within ${limitMs} ms${reason}`);
    });
  }

  publish(messages: readonly Message[]): Promise<readonly PublishFailure[]> {
    if (this.#closed !== undefined) return Promise.reject(closedError());
    return this.#deadlines.limit((deadline) => this.#client.publish(messages, deadline));
  }

  async subscribe(options: ConsumerOptions): Promise<ComponentSubscription> {
    if (this.#closed !== undefined) throw closedError();
    const key = JSON.stringify([options.topic, options.group]);
    const group = this.#groups.get(key) ?? this.#addGroup(key, options);
    const joined = await group.join(options).finally(() => this.#removeIdle(key, group));
    if (this.#closed !== undefined) {
      await joined.close();
      throw closedError();
    }
    const subscription = {
      ...joined,
      close: async (): Promise<void> => {
        this.#subscriptions.delete(subscription);
        await this.#leave(joined, options.topic);
        this.#removeIdle(key, group);
      },
    };
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async #leave(joined: ComponentSubscription, topic: string): Promise<void> {
    try {
      await joined.close();
    } catch (error) {
      // The broker delivers again what it has not got back.
      this.#context.logger.warn({ topic, error: messageOf(error) }, 'messages could not be returned to the broker');
    }
  }

  #removeIdle(key: string, group: BrokerGroup<Handle>): void {
    if (!group.hasConsumers && this.#groups.get(key) === group) this.#groups.delete(key);
  }

  #addGroup(key: string, { topic, group, metadata = {} }: ConsumerOptions): BrokerGroup<Handle> {
    const { clock, logger } = this.#context;
    const made = new BrokerGroup<Handle>({
      open: (options, receiver) => this.#client.openLine(options, receiver),
      options: { topic, group, metadata, clock, logger },
    });
    this.#groups.set(key, made);
    return made;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    this.#deadlines.close();
    await this.#client.close();
  }
}

function closedError(): Error {
  return new Error('the component is closed');
}
