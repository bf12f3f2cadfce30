import type { Clock, Timer } from '../util/clock.ts';
import { type Link, Linked } from '../util/linked.ts';
import { keyOf } from './ordering-key.ts';
import type { ComponentSubscription, ConsumerOptions, Delivery, Message } from './pubsub.ts';
import { type Rate, RateWindow } from './rate-window.ts';
import type { KeyLimit } from './ready-messages.ts';

/** A message queued for one group. */
export interface DispatchedMessage {
  readonly message: Message;
  /** The number of deliveries so far. */
  attempts: number;
  /** How many of the last ones the end of a process has interrupted, as far as it is known. */
  readonly interruptions?: number;
}

/** The queue of a group's messages, as seen by its dispatcher. */
export interface MessageQueue<Entry extends DispatchedMessage> {
  /** Takes the next message that is ready out of the queue. */
  shift(): Entry | undefined;
  /** Puts a message back at the front. */
  unshift(entry: Entry): void;
  /** Removes a settled message. Resolves once that is recorded. */
  remove(entry: Entry): Promise<void>;
  /** Makes a message ready again in `delayMs`. Resolves once that is recorded. */
  delay(entry: Entry, delayMs: number, clock: Clock): Promise<void>;
  /** Keeps a message's place for `delayMs` and records its delivery. */
  hold(entry: Entry, delayMs: number): Promise<void>;
  /** Called when there begin or cease to be consumers that are not paused. */
  onServedChange?(isServed: boolean): void;
}

const SETTLED = Promise.resolve();

/** Delivers a group's messages to its consumers in turn, within the limit of each. */
export class Dispatcher<Entry extends DispatchedMessage> {
  readonly queue: MessageQueue<Entry>;
  readonly #consumers: Consumer<Entry>[] = [];
  /** The consumer of the last message. */
  #served: Consumer<Entry> | undefined;
  #scheduled = false;
  #isServed = false;
  #isPaused = false;
  #rate: RateWindow | undefined;
  /** Set while the rate is reached. */
  #rateTimer: Timer | undefined;
  /** How many messages of one key the queue may have with consumers. */
  readonly keys: KeyLimit = { perKey: Number.POSITIVE_INFINITY };

  constructor(queue: MessageQueue<Entry>) {
    this.queue = queue;
  }

  /** Whether there are consumers that are not paused. */
  get isServed(): boolean {
    return this.#isServed;
  }

  get hasConsumers(): boolean {
    return this.#consumers.length > 0;
  }

  get consumers(): number {
    return this.#consumers.length;
  }

  /** What it has handed out, if its consumers have a rate. */
  get rate(): RateWindow | undefined {
    return this.#rate;
  }

  /** How many messages the consumers have room for now. */
  get room(): number {
    const room = this.#consumers.reduce((sum, consumer) => sum + consumer.room, 0);
    return this.#rate === undefined ? room : this.#rate.left(room);
  }

  /** How many messages the consumers have in flight at most. */
  get capacity(): number {
    return this.#consumers.reduce((sum, { capacity }) => sum + capacity, 0);
  }

  /** Messages handed out and not settled. */
  inFlight(): readonly Entry[] {
    return this.#consumers.flatMap((consumer) => consumer.inFlight());
  }

  /** Hands no more out, whatever the consumers ask for, or continues. */
  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    this.wake();
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  join(options: ConsumerOptions, clock: Clock, onLeave: () => void): ComponentSubscription {
    const consumer = new Consumer(this, options, clock, () => {
      this.#consumers.splice(this.#consumers.indexOf(consumer), 1);
      this.#updateLimits(clock);
      onLeave();
      this.updateServed();
    });
    this.#consumers.push(consumer);
    this.#updateLimits(clock);
    this.updateServed();
    this.wake();
    return consumer;
  }

  /** The limits are those of the group: of several consumers, the strictest ones count. */
  #updateLimits(clock: Clock): void {
    this.keys.perKey = Math.min(...this.#consumers.map(({ perKey }) => perKey));
    if (this.#consumers.length === 0) {
      this.#rateTimer?.cancel();
      this.#rateTimer = undefined;
      // What was handed out still counts for the next consumer.
      return;
    }
    const rates = this.#consumers.flatMap(({ rate }) => rate ?? []);
    const [rate] = rates.sort((one, other) => one.max / one.perMs - other.max / other.perMs);
    if (rate === undefined) this.#rate = undefined;
    else if (rate.max !== this.#rate?.rate.max || rate.perMs !== this.#rate.rate.perMs) {
      const ages = this.#rate?.ages ?? [];
      this.#rate = new RateWindow(rate, clock);
      this.#rate.restore(ages);
    }
  }

  /** Whether the rate allows no message now; has it looked at again when it does. */
  #isRateReached(clock: Clock): boolean {
    const waitMs = this.#rate?.waitMs ?? 0;
    if (waitMs === 0) return false;
    this.#rateTimer ??= clock.setTimeout(() => {
      this.#rateTimer = undefined;
      this.wake();
    }, waitMs);
    return true;
  }

  /** Updates whether there are consumers that are not paused. */
  updateServed(): void {
    const isServed = this.#consumers.some(({ isPaused }) => !isPaused);
    if (isServed === this.#isServed) return;
    this.#isServed = isServed;
    this.queue.onServedChange?.(isServed);
  }

  /** Delivers after the current call has returned, a whole burst at once. */
  wake(): void {
    if (this.#scheduled || this.#consumers.length === 0 || this.#isPaused) return;
    this.#scheduled = true;
    // Not queueMicrotask, which makes a resource of async_hooks each time.
    void SETTLED.then(this.#handOut);
  }

  readonly #handOut = (): void => {
    this.#scheduled = false;
    const batches = new Map<Consumer<Entry>, Delivery[]>();
    for (;;) {
      const consumer = this.#isPaused ? undefined : this.#freeConsumer();
      if (consumer === undefined || this.#isRateReached(consumer.clock)) break;
      const entry = this.queue.shift();
      if (entry === undefined) break;
      this.#rate?.take();
      this.#served = consumer;
      const batch = batches.get(consumer);
      if (batch === undefined) batches.set(consumer, [consumer.begin(entry)]);
      else batch.push(consumer.begin(entry));
    }
    for (const [consumer, batch] of batches) consumer.deliver(batch);
  };

  /** The first free consumer after the one served last. */
  #freeConsumer(): Consumer<Entry> | undefined {
    const count = this.#consumers.length;
    const served = this.#served === undefined ? -1 : this.#consumers.indexOf(this.#served);
    for (let step = 1; step <= count; step++) {
      const consumer = this.#consumers[(served + step) % count];
      if (consumer?.isFree) return consumer;
    }
    return undefined;
  }
}

/** Messages that wait for their retry while their key waits for them do not count in flight, up to this number. */
const MAX_HELD = 1_000;

class Consumer<Entry extends DispatchedMessage> implements ComponentSubscription {
  readonly deliver: ConsumerOptions['deliver'];
  readonly #dispatcher: Dispatcher<Entry>;
  readonly #options: ConsumerOptions;
  readonly clock: Clock;
  readonly #leave: () => void;
  readonly #inFlight = new Linked<HandedOut<Entry>>();
  /** Messages that wait for their retry in their places. */
  readonly #heldBack = new Map<HandedOut<Entry>, Timer>();
  #paused: boolean;
  #closed = false;

  constructor(dispatcher: Dispatcher<Entry>, options: ConsumerOptions, clock: Clock, leave: () => void) {
    this.deliver = options.deliver;
    this.#dispatcher = dispatcher;
    this.#options = options;
    this.clock = clock;
    this.#leave = leave;
    this.#paused = options.paused;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  inFlight(): readonly Entry[] {
    return [...this.#inFlight].map(({ entry }) => entry);
  }

  get capacity(): number {
    return this.#options.maxInFlight;
  }

  get room(): number {
    return this.isFree ? this.#options.maxInFlight - this.#atWork : 0;
  }

  get isFree(): boolean {
    return !this.#paused && !this.#closed && this.#atWork < this.#options.maxInFlight;
  }

  /** How many messages count in flight. */
  get #atWork(): number {
    const held = this.#options.ordered ? 0 : Math.min(this.#heldBack.size, MAX_HELD);
    return this.#inFlight.size - held;
  }

  /** How many messages of a key may be in flight. */
  get perKey(): number {
    const { order, perKey = Number.POSITIVE_INFINITY } = this.#options;
    return order === 'key' ? 1 : perKey;
  }

  get rate(): Rate | undefined {
    return this.#options.rate;
  }

  /** Begins the delivery of a message. */
  begin(entry: Entry): Delivery {
    entry.attempts++;
    const delivery = new HandedOut(entry, this);
    delivery.place = this.#inFlight.add(delivery);
    return delivery;
  }

  ack(delivery: HandedOut<Entry>): Promise<void> {
    if (!this.#takeOut(delivery)) return SETTLED;
    const removed = this.#dispatcher.queue.remove(delivery.entry);
    this.#dispatcher.wake();
    return removed;
  }

  retry(delivery: HandedOut<Entry>, delayMs: number): Promise<void> {
    if (delivery.place?.isIn !== true) return SETTLED;
    const { ordered, order } = this.#options;
    if (ordered || (order === 'key' && keyOf(delivery.message) !== undefined)) return this.#holdBack(delivery, delayMs);
    this.#takeOut(delivery);
    const delayed = this.#dispatcher.queue.delay(delivery.entry, delayMs, this.clock);
    this.#dispatcher.wake();
    return delayed;
  }

  /** Keeps the message in its place until the delay is over, so that no other of its group, or of its key, overtakes it. */
  #holdBack(delivery: HandedOut<Entry>, delayMs: number): Promise<void> {
    const recorded = this.#dispatcher.queue.hold(delivery.entry, delayMs);
    const putBack = (): void => {
      if (!this.#takeOut(delivery)) return;
      this.#dispatcher.queue.unshift(delivery.entry);
      this.#dispatcher.wake();
    };
    const timer = this.clock.setTimeout(() => void recorded.then(putBack, putBack), delayMs);
    this.#heldBack.set(delivery, timer);
    // Its place is free for a message of another key.
    this.#dispatcher.wake();
    return recorded;
  }

  takeBack({ place, entry, attempt }: HandedOut<Entry>): void {
    if (place?.isIn === true) entry.attempts = attempt - 1;
  }

  #takeOut(delivery: HandedOut<Entry>): boolean {
    const { place } = delivery;
    if (this.#heldBack.size > 0) this.#heldBack.delete(delivery);
    return place !== undefined && this.#inFlight.delete(place);
  }

  pause(): void {
    this.#paused = true;
    this.#dispatcher.updateServed();
  }

  resume(): void {
    this.#paused = false;
    this.#dispatcher.updateServed();
    this.#dispatcher.wake();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const timer of this.#heldBack.values()) timer.cancel();
    this.#heldBack.clear();
    const unsettled = this.#inFlight.take().reverse();
    for (const { entry } of unsettled) this.#dispatcher.queue.unshift(entry);
    this.#leave();
    this.#dispatcher.wake();
  }
}

class HandedOut<Entry extends DispatchedMessage> implements Delivery {
  readonly entry: Entry;
  readonly attempt: number;
  /** The delivery's link among those in flight. */
  place: Link<HandedOut<Entry>> | undefined;
  readonly #consumer: Consumer<Entry>;

  constructor(entry: Entry, consumer: Consumer<Entry>) {
    this.entry = entry;
    this.attempt = entry.attempts;
    this.#consumer = consumer;
  }

  get message(): Message {
    return this.entry.message;
  }

  get interruptions(): number {
    return this.entry.interruptions ?? 0;
  }

  ack(): Promise<void> {
    return this.#consumer.ack(this);
  }

  retry(delayMs: number): Promise<void> {
    return this.#consumer.retry(this, delayMs);
  }

  takeBack(): void {
    this.#consumer.takeBack(this);
  }
}
