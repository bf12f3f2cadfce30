import type { OwnedShard } from '../../kernel/owned-shards.ts';
import { type Clock, sleep, systemClock } from '../../util/clock.ts';
import type { Workplace } from '../../util/workplaces.ts';
import { Dispatcher, type MessageQueue } from '../dispatcher.ts';
import type { ComponentSubscription, Message, SubscribeOptions } from '../pubsub.ts';
import { encodeQueued } from './codec.ts';
import type { GroupHolder, HeldQueue } from './group-holder.ts';
import { HandOut } from './hand-out.ts';
import { HeldBack } from './held-back.ts';
import type { QueueLayout } from './layout.ts';
import { ReadAhead, type ReadAheadDeps } from './read-ahead.ts';
import { Settlements, STORE_RETRY_MS } from './settlements.ts';
import { type StoredMessage, survived } from './stored-message.ts';

/** How long to wait for messages in flight before another host may get them. */
const GRACE_PERIOD_MS = 15_000;

/** The dependencies of a {@link DurableQueue}. */
export interface QueueDeps extends Omit<ReadAheadDeps, 'onLoaded' | 'capacity'> {
  /** Whether this host hands the messages out. */
  readonly holder: GroupHolder;
  /** The shard of the group. */
  readonly shard: OwnedShard;
  /** Where functions process its messages. */
  readonly workplace: Workplace;
}

/**
 * One group's messages in the store. In memory it holds those handed out and a short read-ahead, however many wait.
 * Only the host that holds the group hands out and settles. If a host loses a group and gets it back, it reads messages
 * again that it still has in flight. Such a message waits for the end of the earlier delivery: its success counts, but
 * a retry would bring back a settled message. A message that a function of another sidecar in this process still
 * processes waits as well, and is then delivered again.
 */
export class DurableQueue implements MessageQueue<StoredMessage>, HeldQueue {
  readonly #deps: QueueDeps;
  readonly #dispatcher = new Dispatcher(this);
  readonly #ahead: ReadAhead;
  readonly #settlements: Settlements;
  /** Messages handed out and not settled. */
  readonly #out = new Set<StoredMessage>();
  readonly #heldBack: HeldBack;
  readonly #handOut: HandOut;
  #clock: Clock | undefined;
  /** Called when no message is in flight any more. */
  #onIdle: (() => void)[] = [];

  constructor(deps: QueueDeps) {
    const { commits, holder, logger } = deps;
    this.#deps = deps;
    const wake = (): void => this.#dispatcher.wake();
    this.#ahead = new ReadAhead({ ...deps, onLoaded: wake, capacity: () => this.#dispatcher.capacity });
    this.#settlements = new Settlements({ commits, holder, logger, onCaughtUp: wake });
    const onFree = (entry: StoredMessage): void => {
      this.#ahead.unshift(entry);
      this.#dispatcher.wake();
    };
    const onDone = (copy: StoredMessage): void => void this.#removeCopy(copy).catch(() => undefined);
    this.#heldBack = new HeldBack({ ...deps, onFree, onDone });
    this.#handOut = new HandOut({
      ...{ ahead: this.#ahead, heldBack: this.#heldBack, wake, track: deps.track },
      record: (settlement, entry) => this.#settlements.record(settlement, entry.tenure.signal),
      pause: (entry) => sleep(this.#clock ?? systemClock, STORE_RETRY_MS, entry?.tenure.signal),
      room: () => this.#dispatcher.room,
      out: () => this.#out.size,
      readAnew: () => this.readAnew(),
    });
    holder.queue = this;
  }

  join(options: SubscribeOptions, clock: Clock): ComponentSubscription {
    this.#clock = clock;
    this.#settlements.clock = clock;
    this.#handOut.isOrdered = options.ordered || (this.#handOut.isOrdered && this.#dispatcher.hasConsumers);
    const consumer = this.#dispatcher.join(options, clock, () => this.#left());
    this.resume();
    return consumer;
  }

  /** The shard of the group. */
  get shard(): OwnedShard {
    return this.#deps.shard;
  }

  /** The keys of the group. */
  get layout(): QueueLayout {
    return this.#deps.layout;
  }

  get consumers(): number {
    return this.#dispatcher.consumers;
  }

  get isPaused(): boolean {
    return this.#dispatcher.isPaused;
  }

  set isPaused(isPaused: boolean) {
    if (isPaused !== this.#dispatcher.isPaused) this.#dispatcher.isPaused = isPaused;
  }

  /** Whether this host hands the messages out. */
  get holder(): GroupHolder {
    return this.#deps.holder;
  }

  /** How many messages are handed out and not settled. */
  get inFlight(): number {
    return this.#out.size;
  }

  /** The numbers of messages that are handed out or wait for an earlier delivery to end. */
  atWork(): ReadonlySet<number> {
    return new Set([...this.#handOut.numbers(), ...[...this.#out].map(({ number }) => number)]);
  }

  /** Messages are being taken out of the queue: they are not handed out any more. */
  withhold(keys: ReadonlySet<string>): void {
    this.#ahead.withhold(keys);
  }

  /** Withheld messages are no longer in the store. */
  gone(keys: ReadonlySet<string>): void {
    this.#ahead.gone(keys);
  }

  /** Withheld messages may be in the store: reads all messages again. */
  readAnew(): void {
    this.#endTenure();
    this.resume();
  }

  get hasConsumers(): boolean {
    return this.#dispatcher.hasConsumers;
  }

  get isServed(): boolean {
    return this.#dispatcher.isServed;
  }

  served(isServed: boolean): void {
    this.#deps.holder.served(isServed);
  }

  /** Begins to load messages if the group has consumers and this host holds it. */
  resume(): void {
    if (this.#clock === undefined || !this.hasConsumers || !this.#deps.holder.isHere) return;
    if (this.#ahead.start(this.#clock))
      for (const entry of this.#out) if (this.#ahead.isOutdated(entry)) this.#heldBack.addEarly(entry);
    this.#dispatcher.wake();
  }

  /** The shard of the group belongs to this host, which did not own it before. */
  gained(): void {
    this.#deps.holder.gained();
  }

  /** Hands the group over to another host once none of its messages are in flight here. */
  async handOver(): Promise<void> {
    const { shard, holder } = this.#deps;
    if (holder.isStandIn) return;
    shard.begin();
    await this.#endAndFlush();
    shard.end();
  }

  async drain(): Promise<void> {
    const clock = this.#clock;
    if (this.#out.size > 0 && clock !== undefined) {
      const ended = new AbortController();
      const idle = new Promise<void>((resolve) => this.#onIdle.push(resolve));
      await Promise.race([idle, sleep(clock, GRACE_PERIOD_MS, ended.signal).catch(() => undefined)]);
      ended.abort();
    }
    await this.#endAndFlush();
  }

  async #endAndFlush(): Promise<void> {
    this.#endTenure();
    await this.recorded();
    await this.#deps.commits.flushed();
  }

  /** Resolves when all that is to be written of messages that are handed out has been given to the store. */
  recorded(): Promise<void> {
    return this.#handOut.recorded();
  }

  rest(): void {
    if (this.#ahead.isOn) this.#endTenure();
  }

  /** A publish is about to write a message for this group; answers its key. */
  publishing(number: number): string {
    const key = this.#deps.layout.ready(number);
    this.#ahead.publishing(key);
    return key;
  }

  /** A publish failed, or its result is unknown. */
  notPublished(key: string): void {
    this.#ahead.notPublished(key);
  }

  /** A publish has been committed. */
  published(message: Message, number: number, key: string): void {
    this.#ahead.published(message, number, key);
  }

  /** Another host may have written a message: under this key, or under any key. */
  look(key?: string): void {
    if (key === undefined) this.#ahead.lookAtAll();
    else this.#ahead.look(key);
  }

  /** Hands nothing out while the store fails to take settlements: all of it would be delivered again. */
  shift(): StoredMessage | undefined {
    if (this.#settlements.areBehind || !this.#deps.holder.isHere) return undefined;
    const entry = this.#handOut.next();
    if (entry === undefined) return undefined;
    this.#out.add(entry);
    this.#deps.shard.begin();
    return entry;
  }

  unshift(entry: StoredMessage): void {
    this.#handOut.returned(entry);
    this.#ahead.unshift(entry);
    this.#ended(entry);
  }

  remove(entry: StoredMessage): Promise<void> {
    return this.#settlements.record({ delete: [entry.key] }, entry.tenure.signal).then(
      () => this.#removed(entry),
      (error: unknown) => {
        this.#ended(entry);
        throw error;
      },
    );
  }

  #removed(entry: StoredMessage): Promise<void> | undefined {
    this.#ahead.forget(entry);
    const again = this.#heldBack.takeAgain(entry);
    if (again !== undefined && !this.#ahead.isOutdated(again))
      return this.#removeCopy(again).finally(() => this.#ended(entry));
    if (this.#ahead.isOutdated(entry)) this.#heldBack.succeeded(entry);
    this.#ended(entry);
    return undefined;
  }

  /** Deletes the copy of a settled message that this tenure has read, whose key may differ. */
  async #removeCopy(copy: StoredMessage): Promise<void> {
    await this.#settlements.record({ delete: [copy.key] }, copy.tenure.signal);
    this.#ahead.forget(copy);
  }

  async delay(entry: StoredMessage, delayMs: number, clock: Clock): Promise<void> {
    if (this.#ahead.isOutdated(entry)) return this.#ended(entry);
    const dueAt = Math.ceil(clock.now() + delayMs);
    const key = this.#deps.layout.delayed(dueAt, entry.number);
    survived(entry);
    const put = [{ key, value: encodeQueued(entry) }];
    const settlement = entry.key === key ? { put } : { put, delete: [entry.key] };
    try {
      await this.#settlements.record(settlement, entry.tenure.signal);
      this.#ahead.forget(entry);
      this.#ahead.delayed(key, dueAt);
    } finally {
      this.#ended(entry);
    }
  }

  async hold(entry: StoredMessage): Promise<void> {
    if (this.#ahead.isOutdated(entry)) return this.#ended(entry);
    survived(entry);
    try {
      const put = [{ key: entry.key, value: encodeQueued(entry) }];
      await this.#settlements.record({ put }, entry.tenure.signal);
    } finally {
      this.#ended(entry);
    }
  }

  #ended(entry: StoredMessage): void {
    if (!this.#out.delete(entry)) return;
    if (this.#out.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
    this.#heldBack.ended(entry);
    this.#handOut.ended(entry);
    this.#deps.shard.end();
  }

  #left(): void {
    if (!this.#dispatcher.hasConsumers) this.#endTenure();
  }

  #endTenure(): void {
    this.#ahead.stop();
    this.#handOut.clear();
  }
}
