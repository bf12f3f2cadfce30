import { workplaceOf } from '../../../cluster/workplace-of.ts';
import type { ComponentSubscription, Delivery } from '../../../components/pubsub.ts';
import { type Observation, observe, type Settled } from '../../../probe.ts';
import type { Pass } from '../../../resiliency/breaker.ts';
import { CodeCalls } from '../../../util/code-calls.ts';
import { definedOnly } from '../../../util/defined-only.ts';
import { Work } from '../../../util/work.ts';
import { type AnsweredBulk, endingOf, endingOfBulk, failureOf, failureOfBulk, operationOf } from './answered-bulk.ts';
import { AppRequests } from './app-request.ts';
import { BulkBatches, maxInBulk } from './bulk-batches.ts';
import { type DeliveryDeps, ownLimitMs, routeLimit } from './delivery-deps.ts';
import { Gate } from './gate.ts';
import {
  BROKEN_OFF,
  bulkOutcomes,
  type DeliveryOutcome,
  drop,
  failedOutcome,
  noEvent,
  retry,
  singleOutcome,
} from './outcome.ts';
import { ParserHint } from './parser-hint.ts';
import { rawObjectAsEvent } from './raw-object.ts';
import { refusalOf } from './refusal.ts';
import { ReturnHint } from './return-hint.ts';
import { RouteTable } from './routing.ts';
import { type CodeFunction, type CodeTarget, sendBatchToCode, sendToCode } from './send-to-code.ts';
import { type Answered, DeliverySettlement, type SettlementDeps } from './settlement.ts';

/** Dependencies of a {@link SubscriptionConsumer}. */
export interface ConsumerDeps extends DeliveryDeps, SettlementDeps {
  /** The function of a streaming subscription. Default: messages go to the application's routes. */
  readonly code: CodeFunction | undefined;
  /** Whether functions get messages. */
  readonly hasBegun: () => boolean;
}

/** An active subscription: takes messages from the component, delivers them, settles them. */
export class SubscriptionConsumer {
  readonly #deps: ConsumerDeps;
  readonly #requests: AppRequests;
  readonly #routes: RouteTable;
  readonly #settlement: DeliverySettlement;
  readonly #batches: BulkBatches | undefined;
  readonly #gate: Gate;
  readonly #parserHint: ParserHint;
  readonly #inFlight = new Work();
  /** Received, and not sent yet: in an incomplete batch, or at the gate. */
  readonly #unsent = new Set<Delivery>();
  readonly #calls: CodeCalls;
  readonly #code: CodeTarget | undefined;
  #hasLeft = false;
  #appWatch: Disposable | undefined;
  #subscription: ComponentSubscription | undefined;

  /** @throws Error when a rule does not compile. */
  constructor(deps: ConsumerDeps) {
    const { spec, pubsub, clock, logger, group, apart } = deps;
    this.#deps = deps;
    this.#requests = new AppRequests(spec, deps, routeLimit(spec, pubsub, deps));
    this.#calls = new CodeCalls(deps, workplaceOf(pubsub.access, 'messages', pubsub.name, spec.topic, group));
    this.#code = deps.code && {
      eventOf: (message) => this.#requests.eventOf(message),
      timeLimitMs: ownLimitMs(spec, pubsub) ?? 0,
      hint: new ReturnHint(spec, logger),
      ...{ code: deps.code, calls: this.#calls, apart, spec },
    };
    this.#gate = new Gate(pubsub.inbound?.breaker, clock, () => this.#isAway);
    this.#routes = new RouteTable(spec.rules, logger);
    this.#settlement = new DeliverySettlement(deps);
    this.#parserHint = new ParserHint(spec, logger);
    this.#batches =
      spec.bulk && new BulkBatches(spec.bulk, spec.concurrency, clock, (batch) => this.#deliverBulk(batch));
  }

  /** Messages for the application wait until its subscriptions are known; those for a function until the start. */
  get #isAway(): boolean {
    return this.#code === undefined ? this.#deps.monitor?.isKnown !== true : !this.#deps.hasBegun();
  }

  /** Joins the group. Then call {@link SubscriptionConsumer.follow}. */
  async start(): Promise<void> {
    const { spec, pubsub, group } = this.#deps;
    const { topic, concurrency, bulk, metadata, order, perKey, rate } = spec;
    const maxInFlight = bulk === undefined ? concurrency : maxInBulk(bulk, concurrency);
    this.#subscription = await pubsub.component.subscribe({
      topic,
      group,
      metadata,
      maxInFlight,
      ordered: concurrency === 1 && bulk === undefined,
      ...definedOnly({ order, perKey, rate }),
      paused: this.#isAway,
      deliver: (deliveries) => this.#take(deliveries),
    });
  }

  /** Whether it receives messages. */
  get state(): 'active' | 'waiting' | 'starting' {
    if (this.#subscription === undefined) return 'starting';
    return this.#isAway ? 'waiting' : 'active';
  }

  /** From now on, delivers while its target is there. A function is, from the start on: call this again then. */
  follow(): void {
    if (this.#code === undefined) this.#appWatch = this.#deps.monitor?.onChange(() => this.#targetChanged());
    this.#targetChanged();
  }

  #targetChanged(): void {
    if (this.#isAway) return this.#subscription?.pause();
    this.#gate.letIn();
    this.#subscription?.resume();
  }

  /** Takes no new messages, waits at most `gracePeriodMs` for those in flight, and leaves the rest unsettled. */
  async stop(gracePeriodMs: number): Promise<void> {
    await this.#windDown(gracePeriodMs);
    await this.#leave();
  }

  /** Like stop, but keeps its place in the group until every function has returned. */
  async end(gracePeriodMs: number): Promise<void> {
    await this.#windDown(gracePeriodMs);
    if (this.#calls.size === 0) return this.#leave();
    const { logger } = this.#deps;
    const { pubsubName, topic } = this.#deps.spec;
    logger.warn(
      { pubsubName, topic, running: this.#inFlight.running() },
      'a subscription was closed while functions are running: their messages are not delivered elsewhere until they return',
    );
    const fail = (error: unknown): void => logger.error({ topic, error }, 'subscription could not be closed');
    void this.#inFlight.whenIdle().then(() => this.#leave().catch(fail));
  }

  async #windDown(gracePeriodMs: number): Promise<void> {
    this.#appWatch?.[Symbol.dispose]();
    this.#gate.close();
    this.#subscription?.pause();
    this.#batches?.clear();
    for (const delivery of this.#unsent) delivery.takeBack?.();
    this.#unsent.clear();
    this.#settlement.stop();
    await this.#calls.stop(this.#inFlight, gracePeriodMs, new Error('the subscription has ended'));
  }

  async #leave(): Promise<void> {
    this.#hasLeft = true;
    const { work, spec } = this.#deps;
    const done = work.begin(`leaving topic ${spec.topic} of component ${spec.pubsubName}`);
    try {
      await this.#subscription?.close();
    } finally {
      done();
    }
  }

  #take(received: readonly Delivery[]): void {
    const { spec, wire } = this.#deps;
    const deliveries = wire.rawObjectAsEvent && !spec.rawPayload ? received.map(rawObjectAsEvent) : received;
    if (this.#batches !== undefined) {
      for (const delivery of deliveries) this.#unsent.add(delivery);
      return this.#batches.add(deliveries);
    }
    for (const delivery of deliveries) {
      const pass = this.#gate.tryEnter();
      if (pass === undefined) this.#wait(delivery);
      else this.#begin(delivery, pass);
    }
  }

  #wait(delivery: Delivery): void {
    this.#unsent.add(delivery);
    this.#gate.wait((pass) => {
      this.#unsent.delete(delivery);
      this.#begin(delivery, pass);
    });
  }

  #begin(delivery: Delivery, pass: Pass): void {
    const { probe } = this.#deps;
    const deliver = (observation?: Observation): Promise<void> => this.#deliver(delivery, pass, observation);
    void this.#track(`message ${delivery.message.id}`, () =>
      probe === undefined ? deliver() : observe(probe, operationOf(this.#deps, [delivery], false), deliver),
    );
  }

  async #track(what: string, work: () => Promise<void>): Promise<void> {
    const label = `delivery of ${what} of topic ${this.#deps.spec.topic}`;
    const ends = [this.#inFlight.begin(label), this.#deps.work.begin(label)];
    try {
      await work();
    } catch (error) {
      this.#deps.logger.error({ topic: this.#deps.spec.topic, error }, 'delivery failed unexpectedly');
    } finally {
      for (const end of ends) end();
    }
  }

  async #deliver(delivery: Delivery, pass: Pass, observation?: Observation): Promise<void> {
    const startedAt = this.#deps.clock.now();
    for (let turn = this.#routes.turn(); turn !== undefined; turn = this.#routes.turn()) await turn;
    const prepared = this.#prepare(delivery);
    const route = typeof prepared === 'string' ? prepared : '';
    const isSent = typeof prepared === 'string';
    if (isSent) this.#settlement.begin(delivery, route);
    const outcome = isSent ? await this.#send(prepared, delivery, observation) : prepared;
    this.#gate.leave(pass, isSent && outcome !== BROKEN_OFF ? endingOf(outcome) : 'abandoned');
    const settled = await this.#settle({ delivery, route, startedAt }, outcome);
    observation?.end({ settled: [settled], failure: failureOf(outcome) });
  }

  /**
   * Does not settle answers that come after the consumer left, nor failures during a stop: the component redelivers
   * both.
   */
  #settle(answered: Answered, outcome: DeliveryOutcome): Promise<Settled> | Settled {
    const isBrokenOff = outcome.kind === 'retry' && (outcome === BROKEN_OFF || this.#calls.areEnding);
    if (!this.#hasLeft && !isBrokenOff) return this.#settlement.settle(answered, outcome);
    this.#settlement.leave(answered, isBrokenOff ? outcome : BROKEN_OFF);
    return 'unsettled';
  }

  /** The route of a message, or the outcome of one that has no route. */
  #prepare(delivery: Delivery): string | DeliveryOutcome {
    const refused = refusalOf(delivery, this.#deps);
    if (refused !== undefined) return refused;
    try {
      const path = this.#routes.pathFor(() => this.#requests.eventOf(delivery.message));
      return path ?? drop('debug', 'no rule matches and there is no default route');
    } catch (error) {
      return noEvent(error);
    }
  }

  async #send(path: string, delivery: Delivery, observation?: Observation): Promise<DeliveryOutcome> {
    const code = this.#code;
    try {
      if (code !== undefined) return await sendToCode(code, delivery);
      const reply = await this.#deps.call(this.#requests.single(path, delivery.message, observation?.headers()));
      this.#parserHint.observe(reply.status);
      return singleOutcome(reply);
    } catch (error) {
      return failedOutcome(error);
    }
  }

  /** Sends one request per route of the batch; the circuit breaker counts them as one. */
  async #deliverBulk(batch: readonly Delivery[]): Promise<void> {
    const pass = this.#gate.tryEnter() ?? (await new Promise<Pass>((enter) => this.#gate.wait(enter)));
    for (const delivery of batch) this.#unsent.delete(delivery);
    await this.#track(`${batch.length} messages`, async () => {
      const startedAt = this.#deps.clock.now();
      const byPath = new Map<string, Delivery[]>();
      const settled: Promise<unknown>[] = [];
      for (const delivery of batch) {
        for (let turn = this.#routes.turn(); turn !== undefined; turn = this.#routes.turn()) await turn;
        const prepared = this.#prepare(delivery);
        const together = typeof prepared === 'string' ? byPath.get(prepared) : undefined;
        if (typeof prepared !== 'string')
          settled.push(this.#settlement.settle({ delivery, route: '', startedAt }, prepared));
        else if (together === undefined) byPath.set(prepared, [delivery]);
        else together.push(delivery);
      }
      const sent = [...byPath].map(([path, deliveries]) => this.#sendBulk(path, deliveries));
      settled.push(...sent.map(async (answered) => this.#settleBulk(await answered, startedAt)));
      this.#gate.leave(pass, endingOfBulk(await Promise.all(sent)));
      await Promise.all(settled);
    });
  }

  /** Sends one bulk request: an operation that lasts until its messages are settled. */
  #sendBulk(path: string, deliveries: readonly Delivery[]): Promise<AnsweredBulk> {
    const observation = this.#deps.probe?.begin(operationOf(this.#deps, deliveries, true));
    for (const delivery of deliveries) this.#settlement.begin(delivery, path);
    const send = (): Promise<AnsweredBulk> => this.#callBulk(path, deliveries, observation);
    return observation === undefined ? send() : observation.run(send);
  }

  async #callBulk(
    path: string,
    deliveries: readonly Delivery[],
    observation: Observation | undefined,
  ): Promise<AnsweredBulk> {
    const entries = new Map(deliveries.map((delivery) => [this.#deps.newId(), delivery]));
    let outcomes: AnsweredBulk['outcomes'];
    try {
      if (this.#code !== undefined) {
        const ofCode = await sendBatchToCode(this.#code, deliveries);
        outcomes = new Map([...entries.keys()].map((entryId, at) => [entryId, ofCode[at] ?? BROKEN_OFF]));
        return { path, entries, outcomes, observation };
      }
      const reply = await this.#deps.call(this.#requests.bulk(path, entries, observation?.headers()));
      outcomes = bulkOutcomes(reply, [...entries.keys()]);
    } catch (error) {
      outcomes = new Map([...entries.keys()].map((entryId) => [entryId, failedOutcome(error)]));
    }
    return { path, entries, outcomes, observation };
  }

  async #settleBulk({ path, entries, outcomes, observation }: AnsweredBulk, startedAt: number): Promise<void> {
    const settle = (): Promise<Settled[]> =>
      Promise.all(
        [...entries].map(([entryId, delivery]) =>
          this.#settle({ delivery, route: path, startedAt }, outcomes.get(entryId) ?? retry('no outcome')),
        ),
      );
    if (observation === undefined) return void (await settle());
    observation.end({ settled: await observation.run(settle), failure: failureOfBulk(outcomes.values()) });
  }
}
