import type { Metadata } from '../request-metadata.ts';
import type { SubscribablePubSub } from './delivery/subscriptions.ts';
import { pubsubNameEmpty, pubsubNotFound, topicEmpty, topicForbidden } from './errors.ts';
import type { EnvelopeAddress, PublishDestination } from './publishing/envelope.ts';
import { mayPublish } from './scopes.ts';

/** A component and topic to which the application may publish. */
export interface PublishTarget {
  readonly address: EnvelopeAddress;
  readonly pubsub: SubscribablePubSub;
}

/** The most topics of a component that are remembered. */
const MAX_REMEMBERED = 1_000;

/** Finds components and topics to publish to. Remembers what it has found: an application publishes to a few topics. */
export class PublishTargets {
  readonly #appId: string;
  readonly #pubsubs: ReadonlyMap<string, SubscribablePubSub>;
  /** By component and topic. */
  readonly #remembered = new Map<string, Map<string, PublishTarget>>();

  constructor(appId: string, pubsubs: ReadonlyMap<string, SubscribablePubSub>) {
    this.#appId = appId;
    this.#pubsubs = pubsubs;
  }

  /** @throws SidecarError if there is no such component, or the application may not publish to the topic */
  find(destination: PublishDestination, metadata: Metadata, bulk: boolean): PublishTarget {
    const known = this.#remembered.get(destination.pubsubName)?.get(destination.topic);
    return known ?? this.#resolve(destination, metadata, bulk);
  }

  #resolve({ pubsubName, topic }: PublishDestination, metadata: Metadata, bulk: boolean): PublishTarget {
    const address = { appId: this.#appId, pubsubName, topic };
    if (pubsubName === '') throw pubsubNameEmpty(metadata);
    if (typeof topic !== 'string' || topic === '') throw topicEmpty({ pubsubName, topic }, metadata);
    const pubsub = this.#pubsubs.get(pubsubName);
    if (pubsub === undefined) throw pubsubNotFound(pubsubName, metadata, { bulk });
    if (!mayPublish(topic, this.#appId, pubsub.topics)) throw topicForbidden(address);
    const problem = pubsub.topicProblem(topic, 'publish');
    if (problem !== undefined) throw topicForbidden(address, problem);
    const target = { address, pubsub };
    this.#remember(target);
    return target;
  }

  #remember(target: PublishTarget): void {
    const { pubsubName, topic } = target.address;
    const topics = this.#remembered.get(pubsubName) ?? new Map<string, PublishTarget>();
    if (topics.size >= MAX_REMEMBERED) topics.clear();
    this.#remembered.set(pubsubName, topics.set(topic, target));
  }
}
