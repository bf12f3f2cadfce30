import type { Membership } from '../../cluster/membership.ts';
import { type Patience, WHILE_IT_WORKS } from '../../cluster/patience.ts';
import type { Message, PubSubDefinition } from '../../components/pubsub.ts';
import { SidecarError } from '../../errors.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { StateStore } from '../../state/store.ts';
import type { Expected, ExpectedOne } from '../../util/expected.ts';
import { invalidArgument } from '../../util/option-fields.ts';
import type { BlockService } from '../block-service.ts';
import { componentContext } from '../component-context.ts';
import { type Metadata, NO_METADATA } from '../request-metadata.ts';
import { parseAppSubscriptions, REQUIRED_NAMES, withKnownNames } from './delivery/app-subscription.ts';
import { AppSubscriptions } from './delivery/app-subscriptions.ts';
import { argumentOf } from './delivery/argument-of.ts';
import type { EventClass, MakeDeliver } from './delivery/code-handler.ts';
import type { DeliveryDeps } from './delivery/delivery-deps.ts';
import { limitProblem } from './delivery/limit-problem.ts';
import type { SubscriptionState } from './delivery/precedence.ts';
import {
  parseSubscription,
  parseSubscriptions,
  type RouteSubscription,
  type Subscriber,
  type SubscriptionSpec,
} from './delivery/subscription.ts';
import type { SubscriptionInfo } from './delivery/subscription-info.ts';
import { type SubscribablePubSub, type SubscriptionInCode, Subscriptions } from './delivery/subscriptions.ts';
import { hintInCode, pubsubNotFound, subscribeFailed, topicForbidden } from './errors.ts';
import { type BulkPublish, MessageSender } from './message-sender.ts';
import { openComponent } from './open-component.ts';
import { explain } from './operating/explain.ts';
import { QueueOperations } from './operating/operations.ts';
import type { RouteExplanation } from './operating/queue-types.ts';
import { type PublishTarget, PublishTargets } from './publish-targets.ts';
import type { Publish } from './publishing/encode.ts';
import type { EnvelopeAddress, PublishDestination } from './publishing/envelope.ts';
import type { PublishInCommit } from './publishing/publish-in-commit.ts';
import type { TopicDefinition } from './publishing/topic.ts';
import { Unsubscribed, type UnsubscribedTopic } from './publishing/unsubscribed.ts';
import { maySubscribe } from './scopes.ts';

/** The dependencies of a {@link PubSubService}. */
export interface PubSubServiceDeps extends DeliveryDeps {
  /** The components that the application may use. */
  readonly definitions: readonly PubSubDefinition[];
  readonly subscriptions: readonly RouteSubscription[];
  readonly resiliency: Resiliency;
  /** Whether an application exists that takes messages. */
  readonly hasApp: boolean;
  /** Whether it is asked for its subscriptions. */
  readonly asksApp: boolean;
  /** The applications whose subscriptions are expected on a component shared by the sidecars of a state store. */
  readonly expectedOn: (component: string) => Expected;
}

/** A function that was attached before the start. */
interface Attached {
  readonly spec: SubscriptionSpec;
  readonly makeDeliver: MakeDeliver;
}

/** Publishes and delivers messages. The routes and the public class parse its arguments. */
export class PubSubService implements BlockService {
  readonly #deps: PubSubServiceDeps;
  readonly #pubsubs = new Map<string, SubscribablePubSub>();
  readonly #targets: PublishTargets;
  readonly #sender: MessageSender;
  readonly #subscriptions: Subscriptions;
  readonly #app: AppSubscriptions;
  /** To operate the application. */
  readonly queues: QueueOperations;
  readonly #unsubscribed: Unsubscribed;
  /** By component: the announcement that this application will subscribe there. */
  readonly #expected = new Map<string, ExpectedOne>();
  /** The functions of before the start. */
  readonly #attached = new Set<Attached>();
  #isOpen = false;
  #hasBegun = false;
  #hasStopped = false;
  #patience: Patience | undefined;

  constructor(deps: PubSubServiceDeps) {
    this.#deps = deps;
    this.#targets = new PublishTargets(deps.appId, this.#pubsubs);
    this.#sender = new MessageSender(deps);
    this.#subscriptions = new Subscriptions(this.#pubsubs, deps);
    this.#app = new AppSubscriptions({ ...deps, take: (list) => this.#takeDiscovered(list) });
    this.#unsubscribed = new Unsubscribed(deps.logger);
    this.queues = new QueueOperations({ pubsubs: this.#pubsubs, logger: deps.logger, admit: deps.admit });
    deps.monitor?.onChange((state) => (state === 'greeting' ? this.#greet() : undefined));
  }

  /** Throws if the sidecar accepts no work now. */
  admit(): void {
    this.#deps.admit();
  }

  /** Like {@link PubSubService.target}, for code: the error lists the available components. */
  targetInCode(destination: PublishDestination, metadata: Metadata, bulk = false): PublishTarget {
    const { pubsubName } = destination;
    if (pubsubName !== '' && !this.#pubsubs.has(pubsubName))
      throw pubsubNotFound(pubsubName, metadata, {
        bulk,
        hint: hintInCode(bulk ? 'publishBulk' : 'publish', destination, [...this.#pubsubs.keys()]),
      });
    return this.target(destination, metadata, bulk);
  }

  /** Looks a component up and checks that the application may publish to the topic. */
  target(destination: PublishDestination, metadata: Metadata, bulk = false): PublishTarget {
    return this.#targets.find(destination, metadata, bulk);
  }

  /** Encodes and publishes one message. */
  send(target: PublishTarget, publish: Publish): Promise<void> {
    return this.#sender.send(target, publish);
  }

  /** Encodes all messages, then publishes them in portions of at most `limitBytes`. */
  sendBulk(target: PublishTarget, entries: readonly BulkPublish[], limitBytes: number): Promise<void> {
    return this.#sender.sendBulk(target, entries, limitBytes);
  }

  /** The message as it would be published. @throws SidecarError `ERR_PUBSUB_CLOUD_EVENTS_SER` */
  encode(publish: Publish): Message {
    return this.#sender.encode(publish);
  }

  /** Prepares messages to be published in a commit on a store; `undefined` if they are not kept there. */
  prepareInCommit(
    target: PublishTarget,
    publishes: readonly Publish[],
    store: StateStore,
  ): PublishInCommit | undefined {
    return this.#sender.prepareInCommit(target, publishes, store);
  }

  /** The component and name of a topic in code. @throws SidecarError `ERR_INVALID_ARGUMENT` when it must name the component */
  destinationOf({ name: topic, pubsubName }: TopicDefinition): PublishDestination {
    if (pubsubName !== undefined) return { pubsubName, topic };
    const [only, ...others] = this.#deps.definitions;
    if (only !== undefined && others.length === 0) return { pubsubName: only.name, topic };
    const names = this.#deps.definitions.map(({ name }) => name);
    const given = JSON.stringify(topic);
    throw invalidArgument(
      only === undefined
        ? `topic ${given} cannot be used: there is no pub/sub component`
        : `topic ${given} names no pub/sub component and there are several, ${names.join(', ')}: expected defineTopic(${given}, { pubsub: … }) with one of them`,
      'topic',
    );
  }

  /**
   * Delivers messages to a function; call the returned function to end that. Before the components are open this is
   * noted: the function's group is there before any message can be published, and it is called from the start on.
   */
  async subscribe(options: RouteSubscription, makeDeliver: MakeDeliver): Promise<() => Promise<void>> {
    if (!this.#isOpen && !this.#hasStopped) return this.attach(options, makeDeliver);
    if (this.#hasBegun || this.#hasStopped) this.admit();
    const spec = this.#specInCode(options);
    const code = makeDeliver(await eventClass());
    if (this.#hasStopped) this.admit();
    return this.#subscriptions.addStreaming({ spec, code });
  }

  /** Notes a function for the start; call the returned function to take it back, or to end it. */
  attach(options: RouteSubscription, makeDeliver: MakeDeliver): () => Promise<void> {
    const attached: Attached = { spec: this.#specInCode(options), makeDeliver };
    this.#attached.add(attached);
    return async () => {
      this.#attached.delete(attached);
      await this.#subscriptions.endStreaming(attached.spec);
    };
  }

  #specInCode(options: RouteSubscription): SubscriptionSpec {
    const spec = parseSubscription(options, 'STREAMING', this.#subscriber);
    if ('problem' in spec) throw invalidArgument(spec.problem, argumentOf(spec.problem));
    const { pubsubName, topic } = spec;
    const { appId, definitions } = this.#deps;
    const definition = definitions.find(({ name }) => name === pubsubName);
    if (definition === undefined) {
      const known = definitions.map(({ name }) => name);
      throw pubsubNotFound(pubsubName, NO_METADATA, { hint: hintInCode('subscribe', spec, known) });
    }
    if (!maySubscribe(topic, appId, definition.topics)) throw topicForbidden({ appId, pubsubName, topic });
    const limit = limitProblem(spec, definition);
    if (limit !== undefined) throw invalidArgument(limit, argumentOf(limit));
    const problem = definition.topicProblem?.(topic, 'subscribe');
    if (problem !== undefined) throw subscribeFailed(spec, new Error(problem));
    return spec;
  }

  /** The open components. */
  components(): readonly PubSubDefinition[] {
    return this.#deps.definitions.filter(({ name }) => this.#pubsubs.has(name));
  }

  /** The name of the component that is opened next, or being opened. */
  get unopened(): string | undefined {
    return this.#deps.definitions.find(({ name }) => !this.#pubsubs.has(name))?.name;
  }

  /** All subscriptions, including refused ones. */
  list(): readonly SubscriptionState[] {
    return this.#subscriptions.list();
  }

  /** All subscriptions as operators see them. */
  describe(): readonly SubscriptionInfo[] {
    return this.#subscriptions.describe();
  }

  /** Where an event goes that is published to a topic. */
  explain(address: EnvelopeAddress, publish: Publish): RouteExplanation {
    const { pubsubName, topic } = address;
    const event: unknown = JSON.parse(Buffer.from(this.encode(publish).data).toString());
    const ones = this.describe().filter((one) => one.pubsubName === pubsubName && one.topic === topic);
    return { subscriptions: ones.map((one) => explain(one, event)) };
  }

  /** Topics without subscribers, with the number of messages published to them. */
  unsubscribed(): readonly UnsubscribedTopic[] {
    return this.#unsubscribed.list();
  }

  /**
   * Announces this application to the sidecars that share its components: they keep messages for it until its
   * subscriptions are known. @internal
   */
  announce(): void {
    const { appId, definitions, expectedOn } = this.#deps;
    for (const { name, expected = expectedOn(name) } of definitions) this.#expected.set(name, expected.add(appId));
  }

  /** Opens the components one after the other, and joins the groups of declarative subscriptions. */
  async open(membership: Membership): Promise<void> {
    const { definitions, subscriptions, resiliency, hasApp, asksApp } = this.#deps;
    const context = componentContext(this.#deps, membership);
    this.#patience = membership.patience;
    for (const definition of definitions) {
      const { name } = definition;
      const subscriber = this.#expected.get(name);
      const own = {
        ...(subscriber === undefined ? {} : { subscriber }),
        noGroup: (topic: string, messages: number): void => this.#unsubscribed.add(name, topic, messages),
      };
      this.#pubsubs.set(name, await openComponent(definition, { ...context, ...own }, resiliency));
      // A stop did not wait for this one. It is closed by the next.
      if (this.#hasStopped) throw new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar has stopped');
    }
    const Event = this.#attached.size > 0 ? await eventClass() : undefined;
    this.#isOpen = true;
    const inCode = Event === undefined ? [] : [...this.#attached].map((one) => inCodeOf(one, Event));
    const parsed = parseSubscriptions(subscriptions, this.#subscriber);
    await this.#set(this.#subscriptions.setFirst(parsed, inCode), !asksApp);
    if (!hasApp) this.#subscriptions.warnOfNobody();
  }

  /** Lets messages to the functions; the application's routes get theirs once it is there. */
  start(): void {
    this.#hasBegun = true;
    this.#subscriptions.begin();
  }

  async #greet(): Promise<void> {
    if (this.#deps.asksApp && this.#pubsubs.size > 0) await this.#app.ask();
  }

  async #takeDiscovered(list: readonly unknown[]): Promise<void> {
    const parsed = parseAppSubscriptions(this.#inKnownNames(list), this.#subscriber);
    await this.#set(this.#subscriptions.setProgrammatic(parsed), true);
  }

  /** Where names are case-sensitive, another case is warned of: the key would have no effect, in silence. */
  #inKnownNames(list: readonly unknown[]): readonly unknown[] {
    const { wire, logger } = this.#deps;
    const known = withKnownNames(list, ({ written, known, path }) => {
      // A refusal names those that are required.
      if (wire.keysInAnyCase || REQUIRED_NAMES.has(known)) return;
      const key = JSON.stringify(written);
      const place = path.join('.');
      logger.warn({ place }, `the application lists the key ${key}, which is not used; did you mean "${known}"?`);
    });
    return wire.keysInAnyCase ? known : list;
  }

  /** Subscriptions are being set. Each is tried again until it starts; while the state does not work, none is waited for. */
  async #set(setting: Promise<void>, areAll: boolean): Promise<void> {
    const set = areAll ? setting.then(() => this.#subscriptionsAreKnown()) : setting;
    await this.#patience?.waitFor(set, WHILE_IT_WORKS);
  }

  /** Ends the announcements once every known group exists: messages kept for them can then be removed. */
  #subscriptionsAreKnown(): void {
    void this.#subscriptions.started().then((hasStarted) => {
      if (hasStarted) for (const one of this.#expected.values()) one.come();
    });
  }

  get #subscriber(): Subscriber {
    const { appId, wire } = this.#deps;
    return { appId, wire };
  }

  /** Ends the subscriptions, waits for messages in flight and closes the components, at a second time later ones too. */
  async stop(): Promise<void> {
    this.#hasStopped = true;
    this.#app.stop();
    const consumers = await Promise.allSettled([this.#subscriptions.stop()]);
    const components = await Promise.allSettled([...this.#pubsubs.values()].map((pubsub) => this.#close(pubsub)));
    const failed = [...consumers, ...components].find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #close({ name, component }: SubscribablePubSub): Promise<void> {
    const done = this.#deps.work.begin(`closing component ${name}`);
    try {
      await component.close();
    } finally {
      done();
    }
  }
}

/** Only functions receive these events: without them, the sidecar starts faster. */
async function eventClass(): Promise<EventClass> {
  const { CloudEvent } = await import('cloudevents');
  return CloudEvent;
}

function inCodeOf({ spec, makeDeliver }: Attached, event: EventClass): SubscriptionInCode {
  return { spec, code: makeDeliver(event) };
}
