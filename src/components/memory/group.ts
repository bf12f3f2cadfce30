import type { Clock, Timer } from '../../util/clock.ts';
import { Deque } from '../../util/deque.ts';
import type { ComponentSubscription, Delivery, Message, SubscribeOptions } from '../pubsub.ts';
import type { Held } from './broker.ts';

/** A message on its way through one group. */
interface Entry {
  readonly message: Message;
  attempts: number;
}

/** A message that waits for its retry. Without consumers the group has no timers: nothing keeps the process alive. */
interface Delay {
  readonly dueAt: number;
  timer: Timer | undefined;
}

/** The messages of one topic for one group, and the group's consumers. */
export class MemoryGroup {
  readonly #held: Held;
  readonly #ready = new Deque<Entry>();
  readonly #delayed = new Map<Entry, Delay>();
  readonly #consumers: Consumer[] = [];
  #next = 0;
  #pumping = false;
  #dropped = false;

  constructor(held: Held) {
    this.#held = held;
  }

  get hasConsumers(): boolean {
    return this.#consumers.length > 0;
  }

  add(message: Message): void {
    this.#held.messages++;
    this.#held.bytes += message.data.length;
    this.#ready.push({ message, attempts: 0 });
    this.#schedulePump();
  }

  join(options: SubscribeOptions, clock: Clock): ComponentSubscription {
    const consumer = new Consumer(this, options, clock);
    this.#consumers.push(consumer);
    for (const [entry, delay] of this.#delayed) delay.timer ??= this.#startTimer(entry, delay.dueAt, clock);
    this.#schedulePump();
    return consumer;
  }

  leave(consumer: Consumer): void {
    const at = this.#consumers.indexOf(consumer);
    if (at !== -1) this.#consumers.splice(at, 1);
    if (this.#consumers.length > 0) return;
    for (const delay of this.#delayed.values()) {
      delay.timer?.cancel();
      delay.timer = undefined;
    }
  }

  /** Forgets everything; returns how many messages that were. */
  clear(): number {
    this.#dropped = true;
    let dropped = this.#delayed.size;
    for (const entry of this.#delayed.keys()) this.settled(entry);
    this.#delayed.clear();
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      this.settled(entry);
      dropped++;
    }
    return dropped;
  }

  settled({ message }: Entry): void {
    this.#held.messages--;
    this.#held.bytes -= message.data.length;
  }

  /** Takes a message back: at the end of the queue, or before all others. */
  putBack(entry: Entry, where: 'front' | 'back'): void {
    if (this.#dropped) return this.settled(entry);
    if (where === 'front') this.#ready.unshift(entry);
    else this.#ready.push(entry);
    this.#schedulePump();
  }

  /** Takes a message back later. */
  putBackLater(entry: Entry, delayMs: number, clock: Clock): void {
    const dueAt = clock.now() + delayMs;
    this.#delayed.set(entry, { dueAt, timer: this.hasConsumers ? this.#startTimer(entry, dueAt, clock) : undefined });
  }

  #startTimer(entry: Entry, dueAt: number, clock: Clock): Timer {
    return clock.setTimeout(() => {
      this.#delayed.delete(entry);
      this.putBack(entry, 'back');
    }, dueAt - clock.now());
  }

  /** Hands out after the present call has returned, all of a burst at once. */
  #schedulePump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    queueMicrotask(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  wake(): void {
    if (this.#ready.length > 0) this.#schedulePump();
  }

  #pump(): void {
    const batches = new Map<Consumer, Delivery[]>();
    while (this.#ready.length > 0) {
      const consumer = this.#freeConsumer();
      if (consumer === undefined) break;
      const entry = this.#ready.shift();
      if (entry === undefined) break;
      const batch = batches.get(consumer);
      const delivery = consumer.take(entry);
      if (batch === undefined) batches.set(consumer, [delivery]);
      else batch.push(delivery);
    }
    for (const [consumer, batch] of batches) consumer.deliver(batch);
  }

  /** Consumers take turns. */
  #freeConsumer(): Consumer | undefined {
    for (let tried = 0; tried < this.#consumers.length; tried++) {
      this.#next = (this.#next + 1) % this.#consumers.length;
      const consumer = this.#consumers[this.#next];
      if (consumer?.isFree) return consumer;
    }
    return undefined;
  }
}

class Consumer implements ComponentSubscription {
  readonly deliver: SubscribeOptions['deliver'];
  readonly #group: MemoryGroup;
  readonly #options: SubscribeOptions;
  readonly #clock: Clock;
  readonly #inFlight = new Set<MemoryDelivery>();
  #heldBack: Timer | undefined;
  #paused: boolean;
  #closed = false;

  constructor(group: MemoryGroup, options: SubscribeOptions, clock: Clock) {
    this.deliver = options.deliver;
    this.#group = group;
    this.#options = options;
    this.#clock = clock;
    this.#paused = options.paused;
  }

  get isFree(): boolean {
    return !this.#paused && !this.#closed && this.#inFlight.size < this.#options.maxInFlight;
  }

  take(entry: Entry): Delivery {
    entry.attempts++;
    const delivery = new MemoryDelivery(entry, this);
    this.#inFlight.add(delivery);
    return delivery;
  }

  ack(delivery: MemoryDelivery): void {
    if (!this.#inFlight.delete(delivery)) return;
    this.#group.settled(delivery.entry);
    this.#group.wake();
  }

  retry(delivery: MemoryDelivery, delayMs: number): void {
    if (!this.#inFlight.has(delivery)) return;
    if (this.#options.ordered) return this.#holdBack(delivery, delayMs);
    this.#inFlight.delete(delivery);
    this.#group.putBackLater(delivery.entry, delayMs, this.#clock);
    this.#group.wake();
  }

  /** Keeps the place in flight until the delay is over, so that nothing overtakes. */
  #holdBack(delivery: MemoryDelivery, delayMs: number): void {
    this.#heldBack = this.#clock.setTimeout(() => {
      if (this.#inFlight.delete(delivery)) this.#group.putBack(delivery.entry, 'front');
    }, delayMs);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#group.wake();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#heldBack?.cancel();
    this.#group.leave(this);
    const unsettled = [...this.#inFlight].reverse();
    this.#inFlight.clear();
    for (const { entry } of unsettled) this.#group.putBack(entry, 'front');
  }
}

const SETTLED = Promise.resolve();

class MemoryDelivery implements Delivery {
  readonly entry: Entry;
  readonly attempt: number;
  readonly #consumer: Consumer;

  constructor(entry: Entry, consumer: Consumer) {
    this.entry = entry;
    this.attempt = entry.attempts;
    this.#consumer = consumer;
  }

  get message(): Message {
    return this.entry.message;
  }

  ack(): Promise<void> {
    this.#consumer.ack(this);
    return SETTLED;
  }

  retry(delayMs: number): Promise<void> {
    this.#consumer.retry(this, delayMs);
    return SETTLED;
  }
}
