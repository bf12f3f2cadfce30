import type { OwnedShard, OwnedShards } from '../../kernel/owned-shards.ts';
import type { Clock } from '../../util/clock.ts';
import { atWorkElsewhere, type Workplace } from '../../util/workplaces.ts';
import { Dispatcher, type MessageQueue } from '../dispatcher.ts';
import type { ComponentSubscription, Message, SubscribeOptions } from '../pubsub.ts';
import { encodeQueued } from './codec.ts';
import { ReadAhead, type ReadAheadDeps } from './read-ahead.ts';
import { Settlements } from './settlements.ts';
import type { StoredMessage } from './stored-message.ts';

/** What a queue is made of. */
export interface QueueDeps extends Omit<ReadAheadDeps, 'onLoaded'> {
  readonly owned: OwnedShards;
  /** That of the group. */
  readonly shard: OwnedShard;
  /** Where functions have its messages at work. */
  readonly workplace: Workplace;
}

/**
 * One group's messages in the store. It holds in memory what is handed out and a short read-ahead, however many wait.
 * The one host that owns it hands out, and settles. What it had handed out before it lost the group and got it back is
 * read again, and waits for the end of what is at work here: that end counts still, but to try it once more would bring
 * back what is done. What a function of another sidecar of this process still has at work waits for that as well, and
 * then comes again.
 */
export class DurableQueue implements MessageQueue<StoredMessage> {
  readonly #deps: QueueDeps;
  readonly #dispatcher = new Dispatcher(this);
  readonly #ahead: ReadAhead;
  readonly #settlements: Settlements;
  /** Handed out and not settled. */
  readonly #out = new Set<StoredMessage>();
  /** Those of them that were handed out in an earlier tenure, by number, and how they were read in this one. */
  readonly #early = new Map<number, { readonly entry: StoredMessage; again: StoredMessage | undefined }>();
  /** Those of this tenure that a function of another sidecar has at work. */
  readonly #elsewhere = new Set<StoredMessage>();
  /** One at a time: what waits keeps back all behind it. */
  #isOrdered = false;
  #clock: Clock | undefined;

  constructor(deps: QueueDeps) {
    const { commits, owned, shard, logger } = deps;
    this.#deps = deps;
    this.#ahead = new ReadAhead({ ...deps, onLoaded: () => this.#dispatcher.wake() });
    this.#settlements = new Settlements({ commits, owned, shard, logger, onCaughtUp: () => this.#dispatcher.wake() });
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

  /** Begins to load, if there are consumers and the group is this host's. */
  resume(): void {
    if (this.#clock === undefined || !this.#dispatcher.hasConsumers || !this.#deps.shard.isOwned) return;
    this.#ahead.start(this.#clock);
    for (const entry of this.#out)
      if (this.#ahead.isOutdated(entry)) this.#early.set(entry.number, { entry, again: undefined });
    this.#dispatcher.wake();
  }

  /** The group is to go to another host, once nothing of it is under way here. */
  async handOver(): Promise<void> {
    const { shard, commits } = this.#deps;
    shard.begin();
    this.#endTenure();
    await commits.flushed();
    shard.end();
  }

  /** A publish is about to write the message for this group: where. */
  publishing(number: number): string {
    const key = this.#deps.layout.ready(number);
    this.#ahead.publishing(key);
    return key;
  }

  /** The store has not taken it. */
  notPublished(key: string): void {
    this.#ahead.notPublished(key);
  }

  /** A publish has been committed. */
  published(message: Message, number: number, key: string): void {
    this.#ahead.published(message, number, key);
  }

  /** Another host may have written a message: under this key, or under any. */
  look(key?: string): void {
    if (key === undefined) this.#ahead.lookAtAll();
    else this.#ahead.look(key);
  }

  /** While the store takes no settlements nothing more is handed out: all of it would come again. */
  shift(): StoredMessage | undefined {
    if (this.#settlements.areBehind || !this.#deps.shard.isOwned) return undefined;
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

  /** Whether a function of another sidecar of this process has it at work: it is held back until that has returned. */
  #isElsewhere(entry: StoredMessage): boolean {
    const call = atWorkElsewhere(this.#deps.workplace, entry.message.id);
    if (call === undefined) return false;
    this.#elsewhere.add(entry);
    const { logger, topic } = this.#deps;
    const messageId = entry.message.id;
    logger.warn({ topic, messageId }, 'a message waits for its function, still at work in another sidecar');
    call.onEnd(() => {
      if (!this.#elsewhere.delete(entry)) return;
      this.#ahead.unshift(entry);
      this.#dispatcher.wake();
    });
    return true;
  }

  /** Whether it was handed out in an earlier tenure and is not settled: it is held back until then. */
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

  /** It may lie under another key by now. */
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
    if (this.#early.size > 0) this.#letAgain(entry);
    this.#deps.shard.end();
  }

  /** What was held back for it has its turn. */
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
