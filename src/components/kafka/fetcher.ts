import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { clearTimeout, setTimeout } from '../../util/timers.ts';
import type { LineOptions } from '../broker/line.ts';
import type { OutageLog } from '../outage-log.ts';
import {
  closeClient,
  hasFailure,
  isUnreachable,
  type KafkaConsumer,
  type RecordsBatch,
  reasonOf,
  type TopicMetadata,
} from './driver.ts';
import type { PartitionOffsets } from './partition-offsets.ts';
import { NEWEST, OLDEST, offsetsAt } from './positions.ts';
import type { Fetched } from './records.ts';

/** How long a request waits at the broker for messages. */
const WAIT_MS = 1_000;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_PARTITION_BYTES = 1_048_576;
const MAX_FETCH_BYTES = 10_485_760;
/** Marks of transactions, which are no messages. */
const CONTROL = 0x20;
const UNKNOWN_EPOCH = -1;
const RETRY: Backoff = { initialDelayMs: 100, maxDelayMs: 5_000, factor: 2, jitter: 0.5 };

/** The dependencies of a {@link Fetcher}. */
export interface FetcherDeps extends Pick<LineOptions, 'topic' | 'group' | 'logger'> {
  readonly makeConsumer: (options: object) => KafkaConsumer;
  readonly outages: OutageLog;
  /** A number from 0 to 1. */
  readonly random: () => number;
  /** The partitions to read from now. */
  readonly wanted: () => readonly PartitionOffsets[];
  readonly onFetched: (messages: readonly Fetched[]) => void;
}

/**
 * Reads partitions, with one request at a time to each of their brokers. On connections of its own: a broker serves the
 * requests of a connection in turn, and these wait.
 */
export class Fetcher {
  readonly #deps: FetcherDeps;
  #consumer: KafkaConsumer | undefined;
  readonly #busy = new Set<number>();
  #isLooking = false;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(deps: FetcherDeps) {
    this.#deps = deps;
  }

  /** Begins to read where nothing is under way, if there is something to read. */
  poll(): void {
    if (this.#isLooking || this.#isEnded || this.#retry !== undefined || this.#deps.wanted().length === 0) return;
    this.#isLooking = true;
    void this.#fetchAll();
  }

  async #fetchAll(): Promise<void> {
    const { topic, wanted } = this.#deps;
    const consumer = this.#connected();
    try {
      const { topics } = await consumer.metadata({ topics: [topic], autocreateTopics: true });
      // Before it is decided what to read: what changes from here on asks again.
      this.#isLooking = false;
      const metadata = topics.get(topic);
      if (metadata === undefined || this.#isEnded) return;
      const asked = wanted();
      const readable = byLeader(asked, metadata);
      // Metadata may predate these partitions, and no running fetch will refresh it.
      if (asked.length > 0 && readable.size === 0 && this.#busy.size === 0)
        throw new Error('the brokers of the partitions are not known');
      for (const [node, partitions] of readable)
        if (!this.#busy.has(node)) void this.#read(consumer, node, metadata.id, partitions);
    } catch (error) {
      this.#isLooking = false;
      this.#onFailure(error, consumer);
    }
  }

  #connected(): KafkaConsumer {
    if (this.#consumer !== undefined) return this.#consumer;
    const consumer = this.#deps.makeConsumer({ requestTimeout: REQUEST_TIMEOUT_MS });
    consumer.on('error', () => undefined);
    consumer.topics.track(this.#deps.topic);
    this.#consumer = consumer;
    return consumer;
  }

  async #read(
    consumer: KafkaConsumer,
    node: number,
    topicId: string,
    partitions: readonly PartitionOffsets[],
  ): Promise<void> {
    this.#busy.add(node);
    const asked = new Map(partitions.map((partition) => [partition.partition, partition]));
    try {
      const { responses } = await consumer.fetch(requestOf(node, topicId, partitions));
      this.#failures = 0;
      this.#deps.outages.onConnected(this);
      for (const { partitions: read } of responses)
        for (const { partitionIndex, records = [] } of read) this.#receive(asked.get(partitionIndex), topicId, records);
    } catch (error) {
      if (hasFailure(error, 'OFFSET_OUT_OF_RANGE')) await this.#reset(consumer, partitions).catch(() => undefined);
      this.#onFailure(error, consumer);
    } finally {
      this.#busy.delete(node);
    }
    this.poll();
  }

  #receive(partition: PartitionOffsets | undefined, topicId: string, batches: readonly RecordsBatch[]): void {
    // Reading went on while another process got the partition.
    if (partition === undefined || partition.isLost || this.#isEnded) return;
    const messages: Fetched[] = [];
    const { topic } = this.#deps;
    for (const batch of batches) {
      const first = Number(batch.firstOffset);
      for (const record of (batch.attributes & CONTROL) === 0 ? batch.records : []) {
        const offset = first + record.offsetDelta;
        // A batch comes as a whole, with what was read before.
        if (offset < partition.next) continue;
        partition.take(offset);
        const timestamp = Number(batch.firstTimestamp + record.timestampDelta);
        messages.push({ record, topic, topicId, timestamp, handle: { partition, offset } });
      }
      partition.next = Math.max(partition.next, first + batch.lastOffsetDelta + 1);
    }
    if (messages.length > 0) this.#deps.onFetched(messages);
  }

  /** The broker has deleted what was to be read, or has lost it. */
  async #reset(consumer: KafkaConsumer, partitions: readonly PartitionOffsets[]): Promise<void> {
    const { topic } = this.#deps;
    const numbers = partitions.map(({ partition }) => partition);
    const oldest = await offsetsAt(consumer, topic, numbers, OLDEST);
    const newest = await offsetsAt(consumer, topic, numbers, NEWEST);
    for (const one of partitions) {
      const [from, to] = [oldest.get(one.partition) ?? 0, newest.get(one.partition) ?? 0];
      if (one.next >= from && one.next <= to) continue;
      this.#warn(`partition ${one.partition} has no message ${one.next}, only ${from} to ${to}: messages were deleted`);
      one.next = one.next < from ? from : to;
    }
  }

  /** Reads again over another connection, since this one may be dead without a sign. */
  #onFailure(error: unknown, consumer: KafkaConsumer): void {
    if (this.#isEnded || this.#consumer !== consumer) return;
    this.#consumer = undefined;
    void closeClient(consumer);
    this.#failures++;
    if (isUnreachable(error)) this.#deps.outages.onLost(this, reasonOf(error));
    else if (this.#failures === 2) this.#warn(`no messages can be read: ${reasonOf(error)}`);
    this.#retry = setTimeout(
      () => {
        this.#retry = undefined;
        this.poll();
      },
      backoffDelayMs(RETRY, this.#failures, this.#deps.random),
    );
  }

  #warn(text: string): void {
    const { topic, group, logger } = this.#deps;
    logger.warn({ topic, group }, text);
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    this.#deps.outages.onClosed(this);
    clearTimeout(this.#retry);
    if (this.#consumer !== undefined) await closeClient(this.#consumer);
  }
}

function byLeader(
  partitions: readonly PartitionOffsets[],
  { partitions: known }: TopicMetadata,
): ReadonlyMap<number, PartitionOffsets[]> {
  const byNode = new Map<number, PartitionOffsets[]>();
  for (const one of partitions) {
    const leader = known[one.partition]?.leader;
    if (leader === undefined) continue;
    const others = byNode.get(leader);
    if (others === undefined) byNode.set(leader, [one]);
    else others.push(one);
  }
  return byNode;
}

function requestOf(
  node: number,
  topicId: string,
  partitions: readonly PartitionOffsets[],
): Parameters<KafkaConsumer['fetch']>[0] {
  const asked = partitions.map(({ partition, next }) => ({
    partition,
    currentLeaderEpoch: UNKNOWN_EPOCH,
    fetchOffset: BigInt(next),
    lastFetchedEpoch: UNKNOWN_EPOCH,
    partitionMaxBytes: MAX_PARTITION_BYTES,
  }));
  const limits = { maxWaitTime: WAIT_MS, minBytes: 1, maxBytes: MAX_FETCH_BYTES };
  return { node, ...limits, topics: [{ topicId, partitions: asked }] };
}
