import type { OwnedShard } from '../../kernel/owned-shards.ts';
import { isConflictError } from '../../state/errors.ts';
import { type Clock, sleep } from '../../util/clock.ts';
import type { Workplace } from '../../util/workplaces.ts';
import { Dispatcher, type MessageQueue } from '../dispatcher.ts';
import type { ComponentSubscription, ConsumerOptions, Message } from '../pubsub.ts';
import { encodeQueued } from './codec.ts';
import type { GroupLease } from './group-lease.ts';
import { GroupRate } from './group-rate.ts';
import { HandOutGate } from './hand-out-gate.ts';
import type { QueueLayout } from './layout.ts';
import { ReadAhead, type ReadAheadDeps } from './read-ahead.ts';
import { RedeliveryGuard } from './redelivery-guard.ts';
import { Settlements } from './settlements.ts';
import { type StoredMessage, survived } from './stored-message.ts';

/** How long to wait for messages in flight before another host may get them. */
const GRACE_PERIOD_MS = 15_000;

/** The dependencies of a {@link DurableQueue}. */
export interface QueueDeps extends Omit<ReadAheadDeps, 'dispatcher'> {
  /** Says which messages this host hands out. */
  readonly lease: GroupLease;
  /** The shard of the group. */
  readonly shard: OwnedShard;
  /** Where functions process its messages. */
  readonly workplace: Workplace;
}

/**
 * One group's queue. Memory holds only the messages that are handed out and a short read-ahead. Only the host that has
 * the group's lease hands out and settles. After a lost and regained tenure the same message may be read twice: the copy
 * waits until the first delivery ends; its success settles both, its failure frees the copy. A message that a function of
 * another sidecar in this process still processes waits as well, and is then delivered again.
 */
export class DurableQueue implements MessageQueue<StoredMessage> {
  readonly #deps: QueueDeps;
  readonly #dispatcher = new Dispatcher(this);
  readonly #ahead: ReadAhead;
  readonly #settlements: Settlements;
  readonly #guard: RedeliveryGuard;
  readonly #gate: HandOutGate;
  readonly #rate: GroupRate;
  /** Each is ended when no message that it means is in flight any more. */
  readonly #waits = new Set<{ readonly isMeant: (entry: StoredMessage) => boolean; readonly end: () => void }>();

  constructor(deps: QueueDeps) {
    this.#deps = deps;
    const { lease } = deps;
    const dispatcher = this.#dispatcher;
    const ahead = new ReadAhead({ ...deps, dispatcher });
    const settlements = new Settlements({ ...deps, dispatcher });
    const guard = new RedeliveryGuard({ ...deps, ahead, settlements, dispatcher });
    this.#gate = new HandOutGate({ ...deps, ahead, guard, settlements, dispatcher });
    this.#rate = new GroupRate({ ...deps, settlements, dispatcher });
    [this.#ahead, this.#settlements, this.#guard] = [ahead, settlements, guard];
    lease.queue = this;
  }

  join(options: ConsumerOptions, clock: Clock): ComponentSubscription {
    const { lease } = this.#deps;
    this.#settlements.clock = clock;
    this.#gate.isOrdered = options.ordered || (this.#gate.isOrdered && this.#dispatcher.hasConsumers);
    const consumer = this.#dispatcher.join(options, clock, () => {
      if (!this.#dispatcher.hasConsumers) this.rest();
      lease.onLimitsChange();
    });
    lease.onLimitsChange();
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

  /** Says whether this host hands the messages out. */
  get lease(): GroupLease {
    return this.#deps.lease;
  }

  /** Whether one host has to hand out all messages: they come in order, or so many at a time. */
  get isTogether(): boolean {
    return this.#dispatcher.hasConsumers && (this.#gate.isOrdered || this.#dispatcher.rate !== undefined);
  }

  get consumers(): number {
    return this.#dispatcher.consumers;
  }

  get hasConsumers(): boolean {
    return this.#dispatcher.hasConsumers;
  }

  /** Whether it has consumers that are not paused. */
  get isServed(): boolean {
    return this.#dispatcher.isServed;
  }

  onServedChange(isServed: boolean): void {
    this.#deps.lease.onServedChange(isServed);
  }

  /** Whether its messages are not to be handed out. */
  get isPaused(): boolean {
    return this.#dispatcher.isPaused;
  }

  set isPaused(isPaused: boolean) {
    if (isPaused !== this.#dispatcher.isPaused) this.#dispatcher.isPaused = isPaused;
  }

  /** How many messages are handed out and not settled. */
  get inFlight(): number {
    return this.#gate.inFlight;
  }

  /** The numbers of messages that are handed out or wait for an earlier delivery to end. */
  atWork(): ReadonlySet<number> {
    return this.#gate.atWork();
  }

  /** Messages are being taken out of the queue: they are not handed out any more. */
  withhold(keys: ReadonlySet<string>): void {
    this.#ahead.withhold(keys);
  }

  /** Withheld messages are no longer in the store. */
  forgetWithheld(keys: ReadonlySet<string>): void {
    this.#ahead.forgetWithheld(keys);
  }

  /** Withheld messages may be in the store: reads all messages again. */
  reload(): void {
    this.#gate.end();
    this.resume();
  }

  /** Begins to hand messages out, or continues, if the group has consumers and this host has the lease. */
  resume(): void {
    this.#gate.begin();
  }

  /** Forgets the messages that it has read: it has no consumers, or another host hands them out. */
  rest(): void {
    if (this.#ahead.isOn) this.#gate.end();
    this.#rate.close();
  }

  /** Hands the group over to another host once none of its messages are in flight here. */
  async handOver(): Promise<void> {
    const { shard, lease } = this.#deps;
    if (lease.isDelegate || lease.isSpread) return;
    shard.begin();
    this.#gate.end();
    await this.#idle();
    await this.#flush();
    shard.end();
  }

  /** Hands no more out; resolves when nothing is in flight, or messages in flight take too long. */
  async drain(): Promise<void> {
    await this.#idle();
    this.#gate.end();
    await this.#flush();
  }

  /**
   * Hands no more out of partitions that leave this host; resolves when nothing of them is in flight, or, if it
   * `hasLimit`, takes too long: then other hosts deliver it again.
   */
  async release(cancelled: AbortSignal, hasLimit: boolean): Promise<void> {
    const { lease } = this.#deps;
    this.#gate.repartition();
    await this.#idle((entry) => !lease.handsOut(entry), cancelled, hasLimit);
    if (cancelled.aborted) return;
    if (this.#gate.hasInFlight((entry) => !lease.handsOut(entry))) this.reload();
    await this.#flush();
  }

  /** This host has other partitions than before. */
  repartition(): void {
    this.#gate.repartition();
    this.resume();
  }

  /** Resolves when no such message is in flight, or after a time. */
  async #idle(
    isMeant: (entry: StoredMessage) => boolean = () => true,
    cancelled?: AbortSignal,
    hasLimit = true,
  ): Promise<void> {
    if (!this.#gate.hasInFlight(isMeant)) return;
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const over = new Promise<void>((resolve) => ended.signal.addEventListener('abort', () => resolve()));
    const wait = { isMeant, end };
    this.#waits.add(wait);
    cancelled?.addEventListener('abort', end);
    if (hasLimit) void sleep(this.#settlements.clock, GRACE_PERIOD_MS, ended.signal).then(end, () => undefined);
    await over;
    cancelled?.removeEventListener('abort', end);
    this.#waits.delete(wait);
  }

  async #flush(): Promise<void> {
    this.#rate.close();
    await this.recorded();
    await this.#deps.commits.flushed();
  }

  /** Resolves when all that is to be written of messages that are handed out has been given to the store. */
  recorded(): Promise<void> {
    return this.#gate.recorded();
  }

  /** A publish is about to write a message for this group; returns its key. */
  beginPublish(number: number): string {
    const key = this.#deps.layout.ready(number);
    this.#ahead.beginPublish(key);
    return key;
  }

  /** A publish failed, or its result is unknown. */
  onPublishFailed(key: string): void {
    this.#ahead.onPublishFailed(key);
  }

  /** A publish has been committed. */
  onPublished(message: Message, number: number, key: string): void {
    this.#ahead.onPublished(message, number, key);
  }

  /** Another host may have written a message under this key. */
  noticeKey(key: string): void {
    this.#ahead.noticeKey(key);
  }

  /** Other hosts may have written messages. */
  rescan(): void {
    this.#ahead.rescan();
  }

  /** Hands nothing out while the store fails to take settlements: all of it would be delivered again. */
  shift(): StoredMessage | undefined {
    if (this.#settlements.areBehind || !this.#deps.lease.isHere) return undefined;
    if (!this.#rate.grants()) return undefined;
    const entry = this.#gate.next();
    if (entry !== undefined) this.#rate.onHandOut();
    return entry;
  }

  unshift(entry: StoredMessage): void {
    this.#gate.onReturn(entry);
    this.#onEnd(entry);
  }

  remove(entry: StoredMessage): Promise<void> {
    this.#ahead.end(entry);
    return this.#settlements.record({ delete: [entry.key] }, entry).then(
      () => this.#onRemoved(entry),
      (error: unknown) => {
        this.#onUnsettled(entry, error);
        this.#onEnd(entry);
        throw error;
      },
    );
  }

  /**
   * Another host has, or has had, the partition of a message: forgets that it was read, or the message would be passed
   * over here when the partition comes back. Without partitions, the tenure ends.
   */
  #onUnsettled(entry: StoredMessage, error: unknown): void {
    if (this.#deps.lease.isSpread && isConflictError(error)) this.#ahead.unshift(entry);
  }

  #onRemoved(entry: StoredMessage): Promise<void> | undefined {
    this.#ahead.forget(entry);
    const copy = this.#guard.takeCopy(entry);
    if (copy !== undefined && !this.#ahead.isOutdated(copy))
      return this.#guard.removeCopy(copy).finally(() => this.#onEnd(entry));
    if (this.#ahead.isOutdated(entry)) this.#guard.onSuccess(entry);
    this.#onEnd(entry);
    return undefined;
  }

  async delay(entry: StoredMessage, delayMs: number, clock: Clock): Promise<void> {
    this.#ahead.end(entry);
    if (this.#ahead.isOutdated(entry)) return this.#onEnd(entry);
    const dueAt = Math.ceil(clock.now() + delayMs);
    const key = this.#deps.layout.delayed(dueAt, entry.number);
    survived(entry);
    const put = [{ key, value: encodeQueued(entry) }];
    const settlement = entry.key === key ? { put } : { put, delete: [entry.key] };
    try {
      await this.#settlements.record(settlement, entry);
      this.#ahead.forget(entry);
      this.#ahead.expectDelayed(key, dueAt);
    } catch (error) {
      this.#onUnsettled(entry, error);
      throw error;
    } finally {
      this.#onEnd(entry);
    }
  }

  async hold(entry: StoredMessage): Promise<void> {
    if (this.#ahead.isOutdated(entry)) return this.#onEnd(entry);
    survived(entry);
    try {
      const put = [{ key: entry.key, value: encodeQueued(entry) }];
      await this.#settlements.record({ put }, entry);
    } catch (error) {
      this.#onUnsettled(entry, error);
      throw error;
    } finally {
      this.#onEnd(entry);
    }
  }

  /** A delivery has ended. */
  #onEnd(entry: StoredMessage): void {
    if (!this.#gate.onEnd(entry)) return;
    if (this.#waits.size > 0) for (const { isMeant, end } of this.#waits) if (!this.#gate.hasInFlight(isMeant)) end();
  }
}
