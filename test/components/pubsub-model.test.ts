import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { durablePubSub } from '../../src/components/durable/durable-pubsub.ts';
import { memoryPubSub } from '../../src/components/memory/memory-pubsub.ts';
import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import type {
  ComponentSubscription,
  ConsumerOptions,
  Delivery,
  PubSubComponent,
  PubSubDefinition,
} from '../../src/components/pubsub.ts';
import type { GroupQueue } from '../../src/components/queue-access.ts';
import { textMessage } from '../../src/kit/collector.ts';
import type { Batch, KeyedEntry, Scan } from '../../src/state/store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import type { Logger } from '../../src/util/logger.ts';

/**
 * Random publishes, settlements, pauses, joins, leaves, restarts and failures of the store, against what a component
 * promises of every single message.
 */

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Each run is bounded by its commands; all runs together by this. */
const TIME_LIMIT_MS = 2_500;

class FailingStore extends MemoryStore {
  failures = 0;
  /** Turns of the event loop that the answer of a scan takes. */
  slowness = 0;

  override async scan(scan: Scan): Promise<readonly KeyedEntry[]> {
    this.#mayFail();
    const entries = await super.scan(scan);
    for (let turn = 0; turn < this.slowness; turn++) await new Promise((resolve) => setImmediate(resolve));
    return entries;
  }

  override async commit(batch: Batch): Promise<number> {
    this.#mayFail();
    return super.commit(batch);
  }

  #mayFail(): void {
    if (this.failures === 0) return;
    this.failures--;
    throw new Error('the disk is on fire');
  }
}

type Command =
  | { readonly kind: 'publish'; readonly count: number }
  | { readonly kind: 'ack' | 'leave' | 'pause' | 'resume'; readonly pick: number }
  | { readonly kind: 'retry'; readonly pick: number; readonly delayMs: number }
  | { readonly kind: 'join'; readonly maxInFlight: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'restart' }
  | { readonly kind: 'park' }
  | { readonly kind: 'unpark' }
  | { readonly kind: 'fail'; readonly times: number }
  | { readonly kind: 'slow'; readonly turns: number };

const QUEUE = { topic: 't', group: 'app' };
/** Where operators put messages that nobody is to get. */
const PARKED = { topic: 'parked', group: 'app' };

interface Fate {
  /** Acknowledged, and that is recorded. */
  isDone: boolean;
  /** Acknowledged, and that could not be recorded, or not yet. */
  isAsked: boolean;
  inFlight: Delivery | undefined;
  handedOut: number;
  retries: number;
  notBefore: number;
  isParked: boolean;
  /** It was parked once, so that it comes later than others. */
  wasParked: boolean;
}

/** How messages are handed out: with an order or a limit for each of three keys. */
type Limits = Pick<ConsumerOptions, 'order' | 'perKey'>;

interface Member {
  subscription: ComponentSubscription | undefined;
  isPaused: boolean;
  readonly maxInFlight: number;
  readonly inFlight: Map<string, Delivery>;
  lastFresh: number;
}

class Model {
  readonly clock = virtualClock();
  readonly store = new FailingStore({ clock: this.clock, logger: silent });
  readonly #definition: PubSubDefinition;
  readonly #canFail: boolean;
  readonly #limits: Limits;
  readonly #fates = new Map<string, Fate>();
  readonly #firsts = new Map<string, number>();
  #members: Member[] = [];
  #component!: PubSubComponent;
  #published = 0;
  #isMoving = false;
  /** How often a member has left. */
  #leaves = 0;
  #isDraining = false;
  #problem: unknown;

  constructor(definition: PubSubDefinition, canFail: boolean, limits: Limits) {
    this.#definition = definition;
    this.#canFail = canFail;
    this.#limits = limits;
  }

  async open(): Promise<void> {
    const context = { appId: 'model', clock: this.clock, logger: silent, state: this.store, track: () => () => {} };
    this.#component = await this.#definition.open(context);
  }

  async run(command: Command): Promise<void> {
    if (command.kind === 'publish') await this.#publish(command.count);
    else if (command.kind === 'ack') this.#settle(command.pick, undefined);
    else if (command.kind === 'retry') this.#settle(command.pick, command.delayMs);
    else if (command.kind === 'join') await this.join(command.maxInFlight);
    else if (command.kind === 'advance') await this.clock.advance(command.ms);
    else if (command.kind === 'restart') await this.#restart();
    else if (command.kind === 'park') await this.#move(QUEUE, PARKED);
    else if (command.kind === 'unpark') await this.#move(PARKED, QUEUE);
    else if (command.kind === 'fail') this.store.failures = this.#canFail ? command.times : 0;
    else if (command.kind === 'slow') this.store.slowness = command.turns;
    else await this.#member(command.kind, command.pick);
    // A slow scan goes on over several commands.
    if (this.store.slowness === 0) await this.clock.advance(0);
    this.#tellProblem();
  }

  /** An operator moves all messages that are not in flight. */
  async #move(from: GroupQueue, to: GroupQueue): Promise<void> {
    const { queues } = this.#component;
    assert.ok(queues !== undefined);
    await queues.addGroup(PARKED).catch(() => undefined);
    if (to === QUEUE) for (const fate of this.#fates.values()) this.#unparked(fate);
    this.#isMoving = true;
    await queues
      .redeliver(from, {}, ({ message }) => ({ to, message: { ...message, topic: to.topic } }))
      .catch((error: unknown) => assert.match(String(error), /on fire|has no group/));
    this.store.failures = 0;
    const parked = new Set<string>();
    for (const status of await queues.status(PARKED.topic))
      for (const { message } of (await queues.read(status, { limit: 100_000 })).entries) parked.add(message.id);
    this.#isMoving = false;
    for (const [id, fate] of this.#fates) {
      const isParked = parked.has(id);
      if (!isParked) continue;
      assert.ok(!fate.isDone, `message ${id} was parked after it was acknowledged`);
      assert.equal(fate.inFlight, undefined, `message ${id} is in flight and parked`);
      fate.isParked = true;
      fate.wasParked = true;
    }
  }

  /** It begins again, and may be handed out from now on. */
  #unparked(fate: Fate): void {
    if (!fate.isParked) return;
    fate.isParked = false;
    fate.retries = 0;
    fate.notBefore = Number.NEGATIVE_INFINITY;
  }

  #tellProblem(): void {
    if (this.#problem !== undefined) throw this.#problem;
  }

  async join(maxInFlight: number): Promise<void> {
    const member: Member = {
      subscription: undefined,
      isPaused: false,
      maxInFlight,
      inFlight: new Map(),
      lastFresh: -1,
    };
    const deliver = (deliveries: readonly Delivery[]): void => {
      for (const delivery of deliveries) {
        this.#noteProblem(() => this.#take(member, delivery));
        if (this.#isDraining) this.acknowledge(delivery);
      }
    };
    const options = { topic: 't', group: 'app', maxInFlight, ordered: false, paused: false, deliver, ...this.#limits };
    this.#members.push(member);
    try {
      member.subscription = await this.#component.subscribe(options);
    } catch (error) {
      this.#members.splice(this.#members.indexOf(member), 1);
      assert.match(String(error), /on fire/);
    }
  }

  /** What is found while a component delivers, which nobody waits for. */
  #noteProblem(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#problem ??= error;
    }
  }

  #take(member: Member, delivery: Delivery): void {
    const { id } = delivery.message;
    const fate = this.#fates.get(id);
    assert.ok(fate !== undefined, `message ${id} was never published`);
    assert.ok(!fate.isDone, `message ${id} was handed out after it was acknowledged`);
    assert.equal(fate.inFlight, undefined, `message ${id} is in flight twice`);
    assert.ok(!fate.isParked, `message ${id} was handed out though it is parked`);
    assert.ok(!member.isPaused, 'a paused consumer was handed a message');
    assert.ok(this.clock.now() >= fate.notBefore, `message ${id} came before its delay was over`);
    assert.ok(delivery.attempt > fate.retries && delivery.attempt <= fate.handedOut + 1, `attempt of message ${id}`);
    this.#checkKey(id);
    if (
      fate.handedOut === 0 &&
      !fate.wasParked &&
      this.#limits.order === undefined &&
      this.#limits.perKey === undefined
    ) {
      assert.ok(Number(id) > member.lastFresh, `message ${id} came after one that was published later`);
      member.lastFresh = Number(id);
    }
    fate.handedOut++;
    fate.inFlight = delivery;
    member.inFlight.set(id, delivery);
    assert.ok(member.inFlight.size <= member.maxInFlight, 'more in flight than asked for');
  }

  /** Of each key, no more at a time than its limit; with an order, none before an earlier one is done. */
  #checkKey(id: string): void {
    const { order, perKey = order === 'key' ? 1 : undefined } = this.#limits;
    if (perKey === undefined) return;
    const inFlight = this.#members.flatMap((member) =>
      [...member.inFlight.keys()].filter((one) => keyOf(one) === keyOf(id)),
    );
    assert.ok(inFlight.length < perKey, `message ${id} came beside ${inFlight.join()}`);
    // While an operator moves messages, it is not known which of them are parked already.
    if (order === undefined || this.#isMoving || this.#fates.get(id)?.wasParked === true) return;
    const first = this.#firstOf(keyOf(id));
    assert.ok(first === undefined || Number(id) <= first, `message ${id} came before ${first} of its key was done`);
  }

  /** The first message of a key that is not done. */
  #firstOf(key: string): number | undefined {
    const isOver = (id: number): boolean => {
      const { isDone = true, isAsked = true, wasParked = true } = this.#fates.get(String(id)) ?? {};
      return isDone || isAsked || wasParked;
    };
    let first = this.#firsts.get(key) ?? Number(key);
    while (first < this.#published && isOver(first)) first += KEYS;
    this.#firsts.set(key, first);
    return first < this.#published ? first : undefined;
  }

  async #publish(count: number): Promise<void> {
    const ids = Array.from({ length: count }, () => String(this.#published++));
    for (const id of ids)
      this.#fates.set(id, {
        isDone: false,
        isAsked: false,
        inFlight: undefined,
        handedOut: 0,
        retries: 0,
        notBefore: Number.NEGATIVE_INFINITY,
        isParked: false,
        wasParked: false,
      });
    const messages = ids.map((id) => textMessage('t', id, { id, metadata: { partitionKey: keyOf(id) } }));
    const failed = await this.#component.publish(messages).catch(() => ids.map((_, index) => ({ index })));
    for (const { index } of failed) this.#fates.delete(ids[index] ?? '');
  }

  #settle(pick: number, delayMs: number | undefined): void {
    const all = this.#members.flatMap((member) => [...member.inFlight].map((entry) => [member, ...entry] as const));
    const [member, id, delivery] = all[pick % Math.max(1, all.length)] ?? [];
    const fate = this.#fates.get(id ?? '');
    if (member === undefined || id === undefined || delivery === undefined || fate === undefined) return;
    member.inFlight.delete(id);
    fate.inFlight = undefined;
    if (delayMs === undefined) this.acknowledge(delivery);
    else {
      const notBefore = this.clock.now() + delayMs;
      const leaves = this.#leaves;
      const retried = (): void => {
        fate.retries = Math.max(fate.retries, delivery.attempt);
        if (this.#limits.order === undefined || leaves === this.#leaves) fate.notBefore = notBefore;
      };
      // Recorded or not, it does not come before its time while the group has consumers; after that it may.
      delivery.retry(delayMs).then(retried, () => undefined);
    }
  }

  acknowledge(delivery: Delivery): void {
    const { id } = delivery.message;
    const fate = this.#fates.get(id);
    for (const member of this.#members) member.inFlight.delete(id);
    if (fate === undefined) return;
    fate.inFlight = undefined;
    fate.isAsked = true;
    delivery.ack().then(
      () => {
        fate.isDone = true;
      },
      () => undefined,
    );
  }

  async #member(kind: 'leave' | 'pause' | 'resume', pick: number): Promise<void> {
    const at = pick % Math.max(1, this.#members.length);
    const member = this.#members[at];
    if (member === undefined) return;
    member.isPaused = kind === 'pause';
    if (kind === 'pause') member.subscription?.pause();
    if (kind === 'resume') member.subscription?.resume();
    if (kind !== 'leave') return;
    this.#members.splice(at, 1);
    this.#left(member);
    await member.subscription?.close();
  }

  #left(member: Member): void {
    // A message that holds up its key waits with its consumer, and no longer than that.
    this.#leaves++;
    if (this.#limits.order === 'key')
      for (const fate of this.#fates.values()) fate.notBefore = Number.NEGATIVE_INFINITY;
    for (const id of member.inFlight.keys()) {
      const fate = this.#fates.get(id);
      if (fate !== undefined) fate.inFlight = undefined;
    }
    member.inFlight.clear();
  }

  async #restart(): Promise<void> {
    for (const member of this.#members) this.#left(member);
    this.#members = [];
    await this.#component.close();
    this.store.failures = 0;
    await this.open();
  }

  /** Whatever has happened: consumers that acknowledge get all that is left, and then nothing is left. */
  async end(afterRestart: boolean): Promise<void> {
    if (afterRestart) await this.#restart();
    this.store.failures = 0;
    this.store.slowness = 0;
    await this.#move(PARKED, QUEUE);
    this.#isDraining = true;
    for (const { inFlight } of this.#members) for (const delivery of [...inFlight.values()]) this.acknowledge(delivery);
    for (let at = 0; at < this.#members.length; at++) await this.#member('resume', at);
    if (this.#members.length === 0) await this.join(1_000);
    for (let step = 0; step < 10; step++) await this.clock.advance(10_000);
    // What was in the store at a restart is recorded before it is handed out, a few at a time.
    for (let turn = 0; turn < 20_000 && [...this.#fates.values()].some(({ isDone }) => !isDone); turn++)
      await new Promise((resolve) => setImmediate(resolve));
    this.#tellProblem();
    for (const [id, { isDone, isAsked }] of this.#fates)
      assert.ok(isDone, `message ${id} was lost${isAsked ? ' after a failed acknowledgement' : ''}`);
    await this.#component.close();
    assert.equal(this.clock.pendingTimers, 0, 'a timer is left');
    const left = await this.store.scan({ from: '' });
    assert.deepEqual(
      left.filter(({ key }) => /!(?:ready|delayed)!/.test(key)),
      [],
      'the store holds settled messages',
    );
  }
}

const KEYS = 3;

/** The key of a message. */
function keyOf(id: string): string {
  return String(Number(id) % KEYS);
}

const pick = fc.nat(50);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('publish' as const), count: fc.constant(700) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('ack' as const), pick }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('retry' as const), pick, delayMs: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const), pick }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('join' as const), maxInFlight: fc.constantFrom(1, 2, 10, 400) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'park' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'unpark' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('slow' as const), turns: fc.constantFrom(0, 2, 8) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const), times: fc.integer({ min: 1, max: 4 }) }) },
);

async function check(make: () => PubSubDefinition, canFail: boolean, limits: Limits = {}): Promise<void> {
  const commands = fc.array(command, { maxLength: 60, size: 'max' });
  const property = fc.asyncProperty(commands, fc.boolean(), async (all, afterRestart) => {
    const model = new Model(make(), canFail, limits);
    await model.open();
    await model.run({ kind: 'join', maxInFlight: 2 });
    for (const one of all) await model.run(one);
    await model.end(afterRestart);
  });
  await fc.assert(property, { numRuns: 300, interruptAfterTimeLimit: TIME_LIMIT_MS, markInterruptAsFailure: false });
}

describe('pub/sub components against a model: nothing lost, nothing twice, nothing too early', () => {
  test('in memory', () => check(() => memoryPubSub('pubsub'), false));
  test('durable', () => check(() => durablePubSub('pubsub'), false));
  test('durable, on a store that fails now and then', () => check(() => durablePubSub('pubsub'), true));

  describe.each<Limits>([{ order: 'key' }, { perKey: 2 }])('with %j', (limits) => {
    test('in memory', () => check(() => memoryPubSub('pubsub'), false, limits));
    test('durable, on a store that fails now and then', () => check(() => durablePubSub('pubsub'), true, limits));
  });
});
