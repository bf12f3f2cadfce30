import type { PubSubDefinition, TopicScopes } from '../../../components/pubsub.ts';
import { isApiError, messageOf, SidecarError } from '../../../errors.ts';
import { isStateError } from '../../../state/errors.ts';
import { type Backoff, backoffDelayMs } from '../../../util/backoff.ts';
import { sleep } from '../../../util/clock.ts';
import { knownNames, subscribeFailed } from '../errors.ts';
import type { DeliveryDeps, OpenPubSub } from './delivery-deps.ts';
import { describe } from './describe.ts';
import { limitProblem } from './limit-problem.ts';
import {
  chooseOnePerGroup,
  groupKey,
  isExclusive,
  mergeSources,
  type SubscriptionState,
  stateOf,
} from './precedence.ts';
import type { CodeFunction } from './send-to-code.ts';
import type { RefusedSubscription, SubscriptionSpec } from './subscription.ts';
import { SubscriptionConsumer } from './subscription-consumer.ts';
import type { SubscriptionInfo } from './subscription-info.ts';
import { topicProblem } from './topic-problem.ts';

/** A component that subscriptions can use. */
export interface SubscribablePubSub extends OpenPubSub {
  readonly topics: TopicScopes;
  readonly topicProblem: NonNullable<PubSubDefinition['topicProblem']>;
  readonly definition: Pick<PubSubDefinition, 'name' | 'type' | 'limits'>;
}

const START_BACKOFF: Backoff = { initialDelayMs: 500, maxDelayMs: 60_000, factor: 2, jitter: 0.2 };
/** The delay after a failure of the state store: each try waits for that store itself. */
const STATE_RETRY_MS = 1_000;

/** A subscription of a function. */
export interface SubscriptionInCode {
  readonly spec: SubscriptionSpec;
  readonly code: CodeFunction;
}

/** The outcome of the start of a consumer; `waiting` if the state store does not work. */
type Start = 'over' | 'failed' | 'waiting';

/** The subscriptions of a sidecar, from all three sources, and the consumers of those that are active. */
export class Subscriptions {
  readonly #pubsubs: ReadonlyMap<string, SubscribablePubSub>;
  readonly #deps: DeliveryDeps;
  readonly #stopping = new AbortController();
  #declarative: readonly SubscriptionState[] = [];
  #programmatic: readonly SubscriptionState[] = [];
  readonly #streaming = new Map<SubscriptionState, CodeFunction>();
  readonly #active = new Map<SubscriptionState, SubscriptionConsumer>();
  /** Consumers that are ending, with deliveries in flight. */
  readonly #ending = new Set<Promise<void>>();
  /** Consumers whose start failed and is tried again. */
  readonly #beginning = new Set<Promise<void>>();
  /** Subscriptions that were logged as ignored. */
  #ignored: ReadonlySet<string> = new Set();
  #reconciled: Promise<void> = Promise.resolve();
  /** Those of functions that were there before the start: they are tried again, as declarative ones are. */
  readonly #first = new Set<SubscriptionState>();
  /** Whether functions get messages: from the start on, when they can use the sidecar. */
  #hasBegun = false;

  constructor(pubsubs: ReadonlyMap<string, SubscribablePubSub>, deps: DeliveryDeps) {
    this.#pubsubs = pubsubs;
    this.#deps = deps;
  }

  /** All subscriptions as operators see them. */
  describe(): readonly SubscriptionInfo[] {
    return this.list().map((state) => describe(state, this.#groupOf(state), this.#active.get(state)?.state));
  }

  #groupOf({ group }: Pick<SubscriptionState, 'group'>): string {
    const { appId } = this.#deps;
    return group === '' ? appId : `${appId}/${group}`;
  }

  /** Declarative ones first, each replaced by its programmatic one, if any; streaming ones last. */
  list(): readonly SubscriptionState[] {
    return [...mergeSources(this.#declarative, this.#programmatic).kept, ...this.#streaming.keys()];
  }

  /**
   * Sets the subscriptions that are known before the start: those of functions, and declarative ones. Of several of the
   * latter in one group, the first counts.
   *
   * @throws SidecarError `ERR_CONFIGURATION` when a function cannot have its subscription.
   */
  async setFirst(
    parsed: readonly (SubscriptionSpec | RefusedSubscription)[],
    inCode: readonly SubscriptionInCode[],
  ): Promise<void> {
    for (const one of inCode) this.#first.add(this.#addState(one));
    const { kept, ignored } = chooseOnePerGroup(
      parsed.map((one) => this.#admit(one)),
      'first',
    );
    this.#declarative = kept;
    for (const state of ignored) this.#warnIgnored(state, 'another one before it has its group');
    await this.#reconcile();
  }

  /** Without an application, messages of declarative subscriptions wait. */
  warnOfNobody(): void {
    for (const { pubsubName, topic, group, spec, problem } of this.#declarative)
      if (problem === undefined)
        this.#deps.logger.warn(
          { pubsubName, topic, group, routes: routesOf(spec) },
          'a subscription has no application to call, its messages wait: set the option app (--app-port of the command)',
        );
  }

  /** Sets the application's subscriptions: of several in one group, the last counts; they replace declarative ones. */
  async setProgrammatic(parsed: readonly (SubscriptionSpec | RefusedSubscription)[]): Promise<void> {
    // The consumer of an unchanged subscription goes on; the component sees no consumer leave. Competing ones may be
    // alike.
    const before = new Map<string, SubscriptionState[]>();
    for (const state of this.#programmatic) {
      const text = JSON.stringify(state);
      before.set(text, [...(before.get(text) ?? []), state]);
    }
    const { kept, ignored } = chooseOnePerGroup(
      parsed.map((one) => this.#admit(one)),
      'last',
    );
    this.#programmatic = kept.map((state) => before.get(JSON.stringify(state))?.shift() ?? state);
    const replaced = mergeSources(this.#declarative, this.#programmatic).ignored;
    const warned = this.#ignored;
    this.#ignored = new Set([...ignored, ...replaced].map((state) => JSON.stringify(state)));
    for (const state of ignored) this.#warnIgnored(state, 'another one behind it has its group', warned);
    for (const state of replaced) this.#warnIgnored(state, 'the application has declared one for its group', warned);
    await this.#reconcile();
  }

  /** Warns once, though an application that comes back has the same subscriptions again. */
  #warnIgnored(state: SubscriptionState, why: string, warned: ReadonlySet<string> = new Set()): void {
    if (warned.has(JSON.stringify(state))) return;
    const { pubsubName, topic, group, type, spec } = state;
    this.#deps.logger.warn(
      { pubsubName, topic, group, subscriptionType: type, routes: routesOf(spec) },
      `subscription ignored: ${why}`,
    );
  }

  /**
   * Adds a function's subscription; resolves when it receives messages. Call the returned function to end it.
   *
   * @throws SidecarError `ERR_CONFIGURATION` when another subscription has its group; `ERR_PUBSUB_SUBSCRIBE` when the
   * component rejects it.
   */
  async addStreaming(added: SubscriptionInCode): Promise<() => Promise<void>> {
    const { spec } = added;
    // Before the start: of two that are added at the same time, the second must see the first.
    const state = this.#addState(added);
    const consumer = this.#makeConsumer(spec, added.code);
    try {
      await consumer.start();
    } catch (error) {
      this.#streaming.delete(state);
      throw isApiError(error) ? error : subscribeFailed(spec, error);
    }
    if (this.#stopping.signal.aborted) {
      this.#streaming.delete(state);
      await consumer.stop(0);
      throw new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar is stopping');
    }
    this.#active.set(state, consumer);
    consumer.follow();
    this.#emitSubscribed(state);
    return () => this.#end(state);
  }

  #addState({ spec, code }: SubscriptionInCode): SubscriptionState {
    const problem = this.#problemOf(spec);
    if (problem !== undefined) throw new SidecarError('ERR_CONFIGURATION', problem);
    const state = stateOf(spec);
    this.#streaming.set(state, code);
    return state;
  }

  /** Ends the subscription of a function that was there before the start. */
  async endStreaming(spec: SubscriptionSpec): Promise<void> {
    for (const state of this.#streaming.keys()) if (state.spec === spec) await this.#end(state);
  }

  async #end(state: SubscriptionState): Promise<void> {
    const consumer = this.#active.get(state);
    this.#streaming.delete(state);
    this.#first.delete(state);
    this.#active.delete(state);
    if (consumer !== undefined) await this.#untilEnded(consumer.end(this.#deps.gracePeriodMs));
  }

  /** From now on, functions get messages. */
  begin(): void {
    this.#hasBegun = true;
    for (const state of this.#streaming.keys()) this.#active.get(state)?.follow();
  }

  /** Keeps the promise, so that a stop waits for it too. */
  #untilEnded(ended: Promise<void>): Promise<void> {
    const ending = ended.finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    return ending;
  }

  /** Resolves with true when every subscription has started, with false when a stop comes first. */
  async started(): Promise<boolean> {
    while (this.#beginning.size > 0) await Promise.all(this.#beginning);
    return !this.#stopping.signal.aborted;
  }

  /** Takes no new messages and waits for those in flight. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the sidecar is stopping'));
    const consumers = [...this.#active.values()];
    this.#active.clear();
    const stopped = consumers.map((consumer) => consumer.stop(this.#deps.gracePeriodMs));
    await Promise.all([...stopped, ...this.#ending]);
  }

  #admit(parsed: SubscriptionSpec | RefusedSubscription): SubscriptionState {
    const problem = 'problem' in parsed ? parsed.problem : this.#problemOf(parsed);
    if (problem === undefined) return stateOf(parsed);
    const { type, pubsubName, topic } = parsed;
    this.#deps.logger.warn({ pubsubName, topic, subscriptionType: type, problem }, 'subscription refused');
    this.#deps.events.emit('subscriptionRefused', { pubsubName, topic, reason: problem, error: new Error(problem) });
    return stateOf(parsed, problem);
  }

  #problemOf(spec: SubscriptionSpec): string | undefined {
    const pubsub = this.#pubsubs.get(spec.pubsubName);
    if (pubsub === undefined)
      return `pubsub ${spec.pubsubName} is not found${knownNames(spec.pubsubName, this.#pubsubs.keys())}`;
    const problem = topicProblem(spec, pubsub, this.#deps.appId) ?? limitProblem(spec, pubsub.definition);
    if (problem !== undefined) return problem;
    try {
      this.#makeConsumer(spec, undefined);
    } catch (error) {
      return messageOf(error);
    }
    return this.#conflictOf(stateOf(spec));
  }

  /** Two exclusive subscriptions of one group would each get a part of its messages, unnoticed. */
  #conflictOf(state: SubscriptionState): string | undefined {
    const isInCode = state.type === 'STREAMING';
    // Declarative and programmatic ones replace each other instead.
    const others = isInCode ? this.list() : [...this.#streaming.keys()];
    const other = isExclusive(state)
      ? others.find((one) => isExclusive(one) && groupKey(one) === groupKey(state))
      : undefined;
    if (other === undefined) return undefined;
    const { pubsubName, topic, group } = state;
    const where = { DECLARATIVE: 'the options', PROGRAMMATIC: 'the application', STREAMING: 'code' }[other.type];
    const name = group === '' ? '' : ` in group ${JSON.stringify(group)}`;
    return (
      `topic ${JSON.stringify(topic)} of pubsub ${JSON.stringify(pubsubName)} has a subscription${name} already, in ` +
      `${where}: expected a group of its own (group: '…') to receive every message too, or competing: true to share them`
    );
  }

  #makeConsumer(spec: SubscriptionSpec, code: CodeFunction | undefined): SubscriptionConsumer {
    const pubsub = this.#pubsubs.get(spec.pubsubName);
    if (pubsub === undefined) throw new Error(`pubsub ${spec.pubsubName} is not found`);
    const hasBegun = (): boolean => this.#hasBegun;
    return new SubscriptionConsumer({
      ...this.#deps,
      spec,
      pubsub,
      group: this.#groupOf(spec),
      code,
      hasBegun,
    });
  }

  /** One at a time: the application may come back while its earlier subscriptions are ending. */
  #reconcile(): Promise<void> {
    this.#reconciled = this.#reconciled.catch(() => undefined).then(() => this.#reconcileOnce());
    return this.#reconciled;
  }

  /** Ends consumers that are no longer listed and starts those that are new. */
  async #reconcileOnce(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const wanted = new Set(this.list());
    const ending = [...this.#active].filter(([state]) => !wanted.has(state));
    for (const [state] of ending) this.#active.delete(state);
    const ended = ending.map(([, consumer]) => this.#untilEnded(consumer.stop(this.#deps.gracePeriodMs)));
    await Promise.all(ended);
    await Promise.all([...wanted].map((state) => this.#activate(state)));
  }

  async #activate(state: SubscriptionState): Promise<void> {
    const { spec, problem, type } = state;
    // addStreaming() starts those of functions that come later.
    if (type === 'STREAMING' && !this.#first.has(state)) return;
    if (spec === undefined || problem !== undefined || this.#active.has(state) || this.#stopping.signal.aborted) return;
    const consumer = this.#makeConsumer(spec, this.#streaming.get(state));
    this.#active.set(state, consumer);
    const start = await this.#tryStart(state, consumer);
    if (start === 'over') return;
    const later = this.#startLater(state, consumer, start).finally(() => this.#beginning.delete(later));
    this.#beginning.add(later);
  }

  async #tryStart(state: SubscriptionState, consumer: SubscriptionConsumer, before?: Start): Promise<Start> {
    try {
      await consumer.start();
      // It was ended while the component was subscribing: its messages go to others.
      if (this.#active.get(state) !== consumer) {
        await consumer.stop(0);
        return 'over';
      }
    } catch (error) {
      const { pubsubName, topic } = state;
      const start = isStateError(error) && error.kind === 'failed' ? 'waiting' : 'failed';
      // Warns once of a server that is down for long.
      if (!this.#stopping.signal.aborted && !(start === 'waiting' && before === 'waiting'))
        this.#deps.logger.error({ pubsubName, topic, error }, 'subscription could not be started: will be tried again');
      return start;
    }
    consumer.follow();
    this.#emitSubscribed(state);
    return 'over';
  }

  async #startLater(state: SubscriptionState, consumer: SubscriptionConsumer, first: Start): Promise<void> {
    const { clock, random } = this.#deps;
    let start = first;
    for (let attempt = 1; this.#active.get(state) === consumer && start !== 'over'; attempt++) {
      const delayMs = start === 'waiting' ? STATE_RETRY_MS : backoffDelayMs(START_BACKOFF, attempt, random);
      try {
        await sleep(clock, delayMs, this.#stopping.signal);
      } catch {
        return;
      }
      if (this.#active.get(state) === consumer) start = await this.#tryStart(state, consumer, start);
    }
  }

  #emitSubscribed({ pubsubName, topic }: SubscriptionState): void {
    this.#deps.events.emit('subscriptionStarted', { pubsubName, topic });
  }
}

function routesOf(spec: SubscriptionSpec | undefined): string[] {
  return (spec?.rules ?? []).map(({ path }) => path);
}
