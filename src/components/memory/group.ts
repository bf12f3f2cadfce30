import type { Clock, Timer } from '../../util/clock.ts';
import { type DispatchedMessage, Dispatcher, type MessageQueue } from '../dispatcher.ts';
import type { ComponentSubscription, ConsumerOptions, Message } from '../pubsub.ts';
import type { QueueEntry } from '../queue-access.ts';
import { ReadyMessages } from '../ready-messages.ts';
import { ABANDONED_AFTER_MS } from '../retention.ts';
import type { HeldMessages } from './broker.ts';

/** A message and its number, which grows with every message of the component. */
export interface MemoryMessage extends DispatchedMessage {
  readonly number: number;
}

/** A message waiting for its retry. Without consumers there are no timers that would keep the process alive. */
interface Delay {
  readonly dueAt: number;
  timer: Timer | undefined;
}

const DONE = Promise.resolve();

/** The messages of one topic for one group. */
export class MemoryGroup implements MessageQueue<MemoryMessage> {
  readonly dispatcher: Dispatcher<MemoryMessage> = new Dispatcher(this);
  /** It keeps the dead letters of a topic without subscribers: the first group of a subscriber takes them over. */
  keeps = false;
  /** When all its dead letters were last looked at for their age. */
  lookedAt: number = Number.NEGATIVE_INFINITY;
  readonly #held: HeldMessages;
  readonly #ready = new ReadyMessages<MemoryMessage>(this.dispatcher.keys);
  readonly #delayed = new Map<MemoryMessage, Delay>();
  #dropped = false;
  /** Since when it has no consumers, by the clock of the last one. */
  #unserved: { readonly clock: Clock; readonly since: number } | undefined;

  constructor(held: HeldMessages) {
    this.#held = held;
  }

  get hasConsumers(): boolean {
    return this.dispatcher.hasConsumers;
  }

  add(message: Message, number: number): void {
    this.#held.messages++;
    this.#held.bytes += message.data.length;
    this.#ready.push({ message, attempts: 0, number });
    this.dispatcher.wake();
  }

  /** Takes the messages over that another group has kept. */
  takeOver(keeper: MemoryGroup): void {
    for (const entry of keeper.#ready.extract(() => true)) this.#ready.push(entry);
    this.dispatcher.wake();
  }

  join(options: ConsumerOptions, clock: Clock): ComponentSubscription {
    for (const [entry, delay] of this.#delayed) delay.timer ??= this.#startTimer(entry, delay.dueAt, clock);
    return this.dispatcher.join(options, clock, () => this.#left(clock));
  }

  #left(clock: Clock): void {
    this.#unserved = { clock, since: clock.now() };
    this.#stopTimers();
  }

  /** Whether it has collected messages for a long time without consumers. */
  get isAbandoned(): boolean {
    if (this.hasConsumers || this.keeps || this.#unserved === undefined) return false;
    const { clock, since } = this.#unserved;
    return this.#ready.length + this.#delayed.size > 0 && clock.now() >= since + ABANDONED_AFTER_MS;
  }

  /** The messages: ready ones, delayed ones by their instant, those in flight. */
  entries(): readonly QueueEntry[] {
    const delayed = [...this.#delayed].sort(([, one], [, other]) => one.dueAt - other.dueAt);
    return [
      ...this.#ready.values().map((entry) => told(entry, 'ready')),
      ...delayed.map(([entry, { dueAt }]) => ({ ...told(entry, 'delayed'), dueAt })),
      ...this.dispatcher.inFlight().map((entry) => told(entry, 'inFlight')),
    ];
  }

  /** How many messages wait: ready and delayed ones. */
  get waiting(): { readonly ready: number; readonly delayed: number } {
    return { ready: this.#ready.length, delayed: this.#delayed.size };
  }

  /** Removes waiting messages; returns how many. */
  extract(isMeant: (entry: QueueEntry) => boolean): readonly QueueEntry[] {
    const ready = this.#ready.extract((entry) => isMeant(told(entry, 'ready')));
    const delayed = [...this.#delayed].filter(([entry, { dueAt }]) => isMeant({ ...told(entry, 'delayed'), dueAt }));
    for (const [entry, { timer }] of delayed) {
      timer?.cancel();
      this.#delayed.delete(entry);
    }
    const taken = [...ready, ...delayed.map(([entry]) => entry)];
    for (const entry of taken) void this.remove(entry);
    return taken.map((entry) => told(entry, 'ready'));
  }

  /** Removes the first messages up to one that is not meant; returns how many. */
  dropFirst(isMeant: (entry: QueueEntry) => boolean): number {
    const next = (): MemoryMessage | undefined => this.#ready.peek();
    let count = 0;
    for (let first = next(); first !== undefined && isMeant(told(first, 'ready')); first = next()) {
      this.#ready.shift();
      void this.remove(first);
      count++;
    }
    return count;
  }

  /** Removes all messages; returns their number. */
  clear(): number {
    this.#dropped = true;
    return this.extract(() => true).length;
  }

  shift(): MemoryMessage | undefined {
    return this.#ready.shift();
  }

  unshift(entry: MemoryMessage): void {
    if (this.#dropped) void this.remove(entry);
    else this.#ready.unshift(entry);
  }

  remove(entry: MemoryMessage): Promise<void> {
    const { message } = entry;
    this.#ready.end(entry);
    this.#held.messages--;
    this.#held.bytes -= message.data.length;
    return DONE;
  }

  delay(entry: MemoryMessage, delayMs: number, clock: Clock): Promise<void> {
    if (this.#dropped) return this.remove(entry);
    this.#ready.end(entry);
    const dueAt = clock.now() + delayMs;
    this.#delayed.set(entry, { dueAt, timer: this.hasConsumers ? this.#startTimer(entry, dueAt, clock) : undefined });
    return DONE;
  }

  hold(): Promise<void> {
    return DONE;
  }

  #startTimer(entry: MemoryMessage, dueAt: number, clock: Clock): Timer {
    return clock.setTimeout(() => {
      this.#delayed.delete(entry);
      this.#ready.push(entry);
      this.dispatcher.wake();
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

function told({ number, message, attempts }: MemoryMessage, state: QueueEntry['state']): QueueEntry {
  return { key: String(number), state, message, attempts };
}
