import type { OwnedShard } from '../../kernel/owned-shards.ts';
import { type Clock, sleep } from '../../util/clock.ts';
import { atWorkElsewhere, type Workplace } from '../../util/workplaces.ts';
import { Dispatcher, type MessageQueue } from '../dispatcher.ts';
import type { ComponentSubscription, Message, SubscribeOptions } from '../pubsub.ts';
import { encodeQueued } from './codec.ts';
import type { GroupHolder, HeldQueue } from './group-holder.ts';
import { ReadAhead, type ReadAheadDeps } from './read-ahead.ts';
import { Settlements } from './settlements.ts';
import type { StoredMessage } from './stored-message.ts';

/** How long to wait for messages in flight before another host may get them. */
const GRACE_PERIOD_MS = 15_000;

/** The dependencies of a {@link DurableQueue}. */
export interface QueueDeps extends Omit<ReadAheadDeps, 'onLoaded'> {
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
  /** Those handed out in an earlier tenure, by number, with the copy that this tenure has read. */
  readonly #early = new Map<number, { readonly entry: StoredMessage; again: StoredMessage | undefined }>();
  /** Messages of this tenure that a function of another sidecar still processes. */
  readonly #elsewhere = new Set<StoredMessage>();
  /** Delivers one message at a time: a message that waits blocks those behind it. */
  #isOrdered = false;
  #clock: Clock | undefined;
  /** Called when no message is in flight any more. */
  #onIdle: (() => void)[] = [];

  constructor(deps: QueueDeps) {
    const { commits, holder, logger } = deps;
    this.#deps = deps;
    this.#ahead = new ReadAhead({ ...deps, onLoaded: () => this.#dispatcher.wake() });
    this.#settlements = new Settlements({ commits, holder, logger, onCaughtUp: () => this.#dispatcher.wake() });
    holder.queue = this;
  }

  join(options: SubscribeOptions, clock: Clock): ComponentSubscription {
    this.#clock = clock;
    this.#settlements.clock = clock;
    this.#isOrdered = options.ordered || (this.#isOrdered && this.#dispatcher.hasConsumers);
    const consumer = this.#dispatcher.join(options, clock, () => this.#left());
    this.resume();
    return consumer;
  }

  /** The shard of the group. */
  get shard(): OwnedShard {
    return this.#deps.shard;
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
      for (const entry of this.#out)
        if (this.#ahead.isOutdated(entry)) this.#early.set(entry.number, { entry, again: undefined });
    this.#dispatcher.wake();
  }

  /** The shard of the group belongs to this host, which did not own it before. */
  gained(): void {
    this.#deps.holder.gained();
  }

  /** Hands the group over to another host once none of its messages are in flight here. */
  async handOver(): Promise<void> {
    const { shard, commits, holder } = this.#deps;
    if (holder.isStandIn) return;
    shard.begin();
    this.#endTenure();
    await commits.flushed();
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
    this.#endTenure();
    await this.#deps.commits.flushed();
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
    let entry = this.#next();
    while (entry !== undefined && (this.#isAtWork(entry) || this.#isElsewhere(entry))) entry = this.#next();
    if (entry === undefined) return undefined;
    this.#out.add(entry);
    this.#deps.shard.begin();
    return entry;
  }

  #next(): StoredMessage | undefined {
    return this.#isOrdered && this.#elsewhere.size > 0 ? undefined : this.#ahead.shift();
  }

  /**
   * Whether a function of another sidecar in this process still processes the message. If so, holds it back until that
   * returns.
   */
  #isElsewhere(entry: StoredMessage): boolean {
    const call = atWorkElsewhere(this.#deps.workplace, entry.message.id);
    if (call === undefined) return false;
    this.#elsewhere.add(entry);
    const { logger, topic } = this.#deps;
    const messageId = entry.message.id;
    logger.warn({ topic, messageId }, 'a message waits for its function, which still runs in another sidecar');
    call.onEnd(() => {
      if (!this.#elsewhere.delete(entry)) return;
      this.#ahead.unshift(entry);
      this.#dispatcher.wake();
    });
    return true;
  }

  /** Whether the message was handed out in an earlier tenure and is not settled. If so, holds it back until then. */
  #isAtWork(entry: StoredMessage): boolean {
    const early = this.#early.size === 0 ? undefined : this.#early.get(entry.number);
    if (early !== undefined) early.again = entry;
    return early !== undefined;
  }

  unshift(entry: StoredMessage): void {
    this.#ahead.unshift(entry);
    this.#ended(entry);
  }

  async remove(entry: StoredMessage): Promise<void> {
    try {
      await this.#settlements.record({ delete: [entry.key] }, signalOf(entry));
      this.#ahead.forget(entry);
      await this.#removeAgain(entry);
    } finally {
      this.#ended(entry);
    }
  }

  /** Also deletes the entry that this tenure has read, whose key may differ. */
  async #removeAgain({ number }: StoredMessage): Promise<void> {
    const early = this.#early.size === 0 ? undefined : this.#early.get(number);
    const again = early?.again;
    if (early === undefined || again === undefined) return;
    early.again = undefined;
    if (this.#ahead.isOutdated(again)) return;
    await this.#settlements.record({ delete: [again.key] }, signalOf(again));
    this.#ahead.forget(again);
  }

  async delay(entry: StoredMessage, delayMs: number, clock: Clock): Promise<void> {
    if (this.#ahead.isOutdated(entry)) return this.#ended(entry);
    const dueAt = Math.ceil(clock.now() + delayMs);
    const key = this.#deps.layout.delayed(dueAt, entry.number);
    const put = [{ key, value: encodeQueued(entry) }];
    const settlement = entry.key === key ? { put } : { put, delete: [entry.key] };
    try {
      await this.#settlements.record(settlement, signalOf(entry));
      this.#ahead.forget(entry);
      this.#ahead.delayed(key, dueAt);
    } finally {
      this.#ended(entry);
    }
  }

  async hold(entry: StoredMessage): Promise<void> {
    if (this.#ahead.isOutdated(entry)) return this.#ended(entry);
    try {
      const put = [{ key: entry.key, value: encodeQueued(entry) }];
      await this.#settlements.record({ put }, signalOf(entry));
    } finally {
      this.#ended(entry);
    }
  }

  #ended(entry: StoredMessage): void {
    if (!this.#out.delete(entry)) return;
    if (this.#out.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
    if (this.#early.size > 0) this.#letAgain(entry);
    this.#deps.shard.end();
  }

  /** Releases the copy that was held back for it. */
  #letAgain(entry: StoredMessage): void {
    const early = this.#early.get(entry.number);
    if (early?.entry !== entry) return;
    this.#early.delete(entry.number);
    if (early.again === undefined) return;
    this.#ahead.unshift(early.again);
    this.#dispatcher.wake();
  }

  #left(): void {
    if (!this.#dispatcher.hasConsumers) this.#endTenure();
  }

  #endTenure(): void {
    this.#ahead.stop();
    this.#elsewhere.clear();
  }
}

function signalOf({ tenure }: StoredMessage): AbortSignal {
  return tenure.signal;
}
