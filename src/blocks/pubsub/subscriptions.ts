import type { TopicScopes } from '../../components/pubsub.ts';
import { messageOf, SidecarError } from '../../errors.ts';
import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { sleep } from '../../util/clock.ts';
import { Consumer, type ConsumerParts } from './consumer.ts';
import type { DeliveryHost, OpenPubSub } from './delivery-host.ts';
import { maySubscribe } from './scopes.ts';
import type { RefusedSubscription, SubscriptionSpec, SubscriptionType } from './subscription.ts';

/** A component that subscriptions can use. */
export interface SubscribablePubSub extends OpenPubSub {
  readonly topics: TopicScopes;
}

/** A subscription as it stands. */
export interface SubscriptionState {
  readonly type: SubscriptionType;
  readonly pubsubName: string;
  readonly topic: string;
  readonly spec: SubscriptionSpec | undefined;
  /** Why it was refused; absent for one that was not. */
  readonly problem?: string;
}

const START_BACKOFF: Backoff = { initialDelayMs: 500, maxDelayMs: 60_000, factor: 2, jitter: 0.2 };

/** The subscriptions of a sidecar, from all three sources, and the consumers of those that are active. */
export class Subscriptions {
  readonly #appId: string;
  readonly #pubsubs: ReadonlyMap<string, SubscribablePubSub>;
  readonly #host: DeliveryHost;
  readonly #stopping = new AbortController();
  #declarative: readonly SubscriptionState[] = [];
  #programmatic: readonly SubscriptionState[] = [];
  readonly #streaming = new Set<SubscriptionState>();
  readonly #active = new Map<SubscriptionState, Consumer>();
  #paused = true;
  #reconciled: Promise<void> = Promise.resolve();

  constructor(appId: string, pubsubs: ReadonlyMap<string, SubscribablePubSub>, host: DeliveryHost) {
    this.#appId = appId;
    this.#pubsubs = pubsubs;
    this.#host = host;
  }

  /** Declarative ones first, a programmatic one in the place of the one that it replaces, streaming ones last. */
  list(): readonly SubscriptionState[] {
    const refused = this.#programmatic.filter(({ problem }) => problem !== undefined);
    const admitted = this.#programmatic.filter(({ problem }) => problem === undefined);
    const replacements = new Map(admitted.map((state) => [keyOf(state), state]));
    const merged = this.#declarative.map((state) => {
      const replacement = replacements.get(keyOf(state));
      replacements.delete(keyOf(state));
      return replacement ?? state;
    });
    return [...merged, ...replacements.values(), ...refused, ...this.#streaming];
  }

  /** Takes the declarative subscriptions: of several for one topic the first counts. */
  async setDeclarative(parsed: readonly (SubscriptionSpec | RefusedSubscription)[]): Promise<void> {
    this.#declarative = onePerTopic([...parsed].reverse().map((one) => this.#admit(one))).reverse();
    await this.#reconcile();
  }

  /** Takes what the application told: of several for one topic the last counts, and it replaces a declarative one. */
  async setProgrammatic(parsed: readonly (SubscriptionSpec | RefusedSubscription)[]): Promise<void> {
    // What is as it was stays as it is: its consumer goes on, and the component sees nobody leave.
    const before = new Map(this.#programmatic.map((state) => [JSON.stringify(state), state]));
    const now = onePerTopic(parsed.map((one) => this.#admit(one)));
    this.#programmatic = now.map((state) => before.get(JSON.stringify(state)) ?? state);
    await this.#reconcile();
  }

  /** Adds a function's subscription; resolves when it receives messages. Call what it returns to end it. */
  async addStreaming(
    spec: SubscriptionSpec,
    parts: Pick<ConsumerParts, 'deliverToCode'>,
  ): Promise<() => Promise<void>> {
    const problem = this.#problemOf(spec);
    if (problem !== undefined) throw new Error(problem);
    const state: SubscriptionState = { type: 'STREAMING', pubsubName: spec.pubsubName, topic: spec.topic, spec };
    const consumer = this.#makeConsumer(spec, parts);
    await consumer.start(false);
    if (this.#stopping.signal.aborted) {
      await consumer.stop(0);
      throw new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar is stopping');
    }
    this.#streaming.add(state);
    this.#active.set(state, consumer);
    this.#tellSubscribed(state);
    return async () => {
      this.#streaming.delete(state);
      this.#active.delete(state);
      await consumer.stop(this.#host.patienceMs);
    };
  }

  /** Delivers to the application, which takes requests now. */
  resume(): void {
    this.#paused = false;
    for (const consumer of this.#active.values()) consumer.resume();
  }

  /** The application takes no requests now: what goes to it waits. What goes to functions in code goes on. */
  pause(): void {
    this.#paused = true;
    for (const [{ type }, consumer] of this.#active) if (type !== 'STREAMING') consumer.pause();
  }

  /** Takes nothing new and waits for what is in flight. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the sidecar is stopping'));
    const consumers = [...this.#active.values()];
    this.#active.clear();
    await Promise.all(consumers.map((consumer) => consumer.stop(this.#host.patienceMs)));
  }

  #admit(parsed: SubscriptionSpec | RefusedSubscription): SubscriptionState {
    const { type, pubsubName, topic } = parsed;
    const problem = 'problem' in parsed ? parsed.problem : this.#problemOf(parsed);
    if (problem === undefined) return { type, pubsubName, topic, spec: 'problem' in parsed ? undefined : parsed };
    this.#host.logger.warn({ pubsubName, topic, type, problem }, 'subscription refused');
    this.#host.events.emit('subscriptionRefused', { pubsubName, topic, reason: problem });
    return { type, pubsubName, topic, spec: 'problem' in parsed ? undefined : parsed, problem };
  }

  #problemOf(spec: SubscriptionSpec): string | undefined {
    const pubsub = this.#pubsubs.get(spec.pubsubName);
    if (pubsub === undefined) return `pubsub ${spec.pubsubName} is not found`;
    if (!maySubscribe(spec.topic, this.#appId, pubsub.topics)) {
      return `subscription to topic '${spec.topic}' on pubsub '${spec.pubsubName}' is not allowed for app id ${this.#appId}`;
    }
    try {
      this.#makeConsumer(spec, {});
    } catch (error) {
      return messageOf(error);
    }
    return undefined;
  }

  #makeConsumer(spec: SubscriptionSpec, parts: Pick<ConsumerParts, 'deliverToCode'>): Consumer {
    const pubsub = this.#pubsubs.get(spec.pubsubName);
    if (pubsub === undefined) throw new Error(`pubsub ${spec.pubsubName} is not found`);
    return new Consumer({ spec, pubsub, host: this.#host, group: this.#appId, ...parts });
  }

  /** One time after the other: the application may come back while what it had before is being ended. */
  #reconcile(): Promise<void> {
    this.#reconciled = this.#reconciled.catch(() => undefined).then(() => this.#reconcileOnce());
    return this.#reconciled;
  }

  /** Ends what is no longer in the list and begins what is new in it. */
  async #reconcileOnce(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const wanted = new Set(this.list());
    const ending = [...this.#active].filter(([state]) => !wanted.has(state));
    for (const [state] of ending) this.#active.delete(state);
    await Promise.all(ending.map(([, consumer]) => consumer.stop(this.#host.patienceMs)));
    await Promise.all([...wanted].map((state) => this.#activate(state)));
  }

  async #activate(state: SubscriptionState): Promise<void> {
    const { spec } = state;
    if (spec === undefined || state.problem !== undefined || this.#active.has(state)) return;
    if (this.#stopping.signal.aborted) return;
    const consumer = this.#makeConsumer(spec, {});
    this.#active.set(state, consumer);
    if (!(await this.#tryStart(state, consumer))) void this.#startLater(state, consumer);
  }

  async #tryStart(state: SubscriptionState, consumer: Consumer): Promise<boolean> {
    try {
      await consumer.start(this.#paused);
      // It was ended while the component was subscribing: what it has taken is to go to others.
      if (this.#active.get(state) !== consumer) {
        await consumer.stop(0);
        return true;
      }
    } catch (error) {
      this.#host.logger.error(
        { pubsubName: state.pubsubName, topic: state.topic, error },
        'subscription could not be started: will be tried again',
      );
      return false;
    }
    // The application may have come up, or gone, while the component was subscribing.
    if (this.#paused) consumer.pause();
    else consumer.resume();
    this.#tellSubscribed(state);
    return true;
  }

  async #startLater(state: SubscriptionState, consumer: Consumer): Promise<void> {
    const { signal } = this.#stopping;
    for (let attempt = 1; this.#active.get(state) === consumer; attempt++) {
      try {
        await sleep(this.#host.clock, backoffDelayMs(START_BACKOFF, attempt, this.#host.random), signal);
      } catch {
        return;
      }
      if (this.#active.get(state) !== consumer || (await this.#tryStart(state, consumer))) return;
    }
  }

  #tellSubscribed({ pubsubName, topic }: SubscriptionState): void {
    this.#host.events.emit('subscribed', { pubsubName, topic });
  }
}

function keyOf({ pubsubName, topic }: SubscriptionState): string {
  return JSON.stringify([pubsubName, topic]);
}

/** Of several for one topic the last; one that was refused does not take the place of one that was not. */
function onePerTopic(states: readonly SubscriptionState[]): SubscriptionState[] {
  const byTopic = new Map<string, SubscriptionState>();
  const refused: SubscriptionState[] = [];
  for (const state of states) {
    if (state.problem !== undefined) refused.push(state);
    else byTopic.set(keyOf(state), state);
  }
  return [...byTopic.values(), ...refused];
}
