import type { Clock, Timer } from '../../util/clock.ts';
import { Deque } from '../../util/deque.ts';
import { Dispatcher, type MessageQueue, type QueuedMessage } from '../dispatcher.ts';
import type { ComponentSubscription, Message, SubscribeOptions } from '../pubsub.ts';
import type { Held } from './broker.ts';

/** A message waiting for its retry. Without consumers there are no timers that would keep the process alive. */
interface Delay {
  readonly dueAt: number;
  timer: Timer | undefined;
}

const DONE = Promise.resolve();

/** The messages of one topic for one group. */
export class MemoryGroup implements MessageQueue<QueuedMessage> {
  readonly #held: Held;
  readonly #ready = new Deque<QueuedMessage>();
  readonly #delayed = new Map<QueuedMessage, Delay>();
  readonly #dispatcher = new Dispatcher(this);
  #dropped = false;

  constructor(held: Held) {
    this.#held = held;
  }

  get hasConsumers(): boolean {
    return this.#dispatcher.hasConsumers;
  }

  add(message: Message): void {
    this.#held.messages++;
    this.#held.bytes += message.data.length;
    this.#ready.push({ message, attempts: 0 });
    this.#dispatcher.wake();
  }

  join(options: SubscribeOptions, clock: Clock): ComponentSubscription {
    for (const [entry, delay] of this.#delayed) delay.timer ??= this.#startTimer(entry, delay.dueAt, clock);
    return this.#dispatcher.join(options, clock, () => this.#stopTimers());
  }

  /** Removes all messages; returns their number. */
  clear(): number {
    this.#dropped = true;
    const entries = [...this.#delayed.keys()];
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) entries.push(entry);
    this.#delayed.clear();
    for (const entry of entries) void this.remove(entry);
    return entries.length;
  }

  shift(): QueuedMessage | undefined {
    return this.#ready.shift();
  }

  unshift(entry: QueuedMessage): void {
    if (this.#dropped) void this.remove(entry);
    else this.#ready.unshift(entry);
  }

  remove({ message }: QueuedMessage): Promise<void> {
    this.#held.messages--;
    this.#held.bytes -= message.data.length;
    return DONE;
  }

  delay(entry: QueuedMessage, delayMs: number, clock: Clock): Promise<void> {
    if (this.#dropped) return this.remove(entry);
    const dueAt = clock.now() + delayMs;
    this.#delayed.set(entry, { dueAt, timer: this.hasConsumers ? this.#startTimer(entry, dueAt, clock) : undefined });
    return DONE;
  }

  hold(): Promise<void> {
    return DONE;
  }

  #startTimer(entry: QueuedMessage, dueAt: number, clock: Clock): Timer {
    return clock.setTimeout(() => {
      this.#delayed.delete(entry);
      this.#ready.push(entry);
      this.#dispatcher.wake();
    }, dueAt - clock.now());
  }

  #stopTimers(): void {
    if (this.hasConsumers) return;
    for (const delay of this.#delayed.values()) {
      delay.timer?.cancel();
      delay.timer = undefined;
    }
  }
}
