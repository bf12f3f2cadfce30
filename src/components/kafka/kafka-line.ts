import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { Deque } from '../../util/deque.ts';
import { withTimeLimit } from '../../util/time-limit.ts';
import { clearTimeout, setTimeout } from '../../util/timers.ts';
import type { Line, LineOptions, LineReceiver, Received } from '../broker/line.ts';
import type { OutageLog } from '../outage-log.ts';
import { type CommitPlace, Commits } from './commits.ts';
import { isUnreachable, type KafkaConsumer, reasonOf } from './driver.ts';
import { Fetcher } from './fetcher.ts';
import { type Assignment, GroupMembership, type GroupTimes } from './group-membership.ts';
import { PartitionOffsets } from './partition-offsets.ts';
import { positionsOf } from './positions.ts';
import { type KafkaHandle, type RecordReading, receivedOf } from './records.ts';

const FLUSH_LIMIT_MS = 2_000;
const REJOIN: Backoff = { initialDelayMs: 100, maxDelayMs: 5_000, factor: 2, jitter: 0.5 };

/** The dependencies of a {@link KafkaLine}. */
export interface KafkaLineDeps {
  /** Makes a client of the group. */
  readonly makeConsumer: (options: object) => KafkaConsumer;
  readonly times: GroupTimes;
  readonly initialOffset: 'newest' | 'oldest';
  readonly reading: RecordReading;
  readonly outages: OutageLog;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

/** The messages of a group, from the partitions that the group assigns to this process. */
export class KafkaLine implements Line<KafkaHandle> {
  readonly #deps: KafkaLineDeps;
  readonly #options: LineOptions;
  readonly #receiver: LineReceiver<KafkaHandle>;
  readonly #partitions = new Map<number, PartitionOffsets>();
  readonly #fetcher: Fetcher;
  readonly #commits: Commits;
  /** Fetched, and not delivered for lack of room. */
  readonly #buffer = new Deque<Received<KafkaHandle>>();
  #membership: GroupMembership | undefined;
  #assignment: Assignment | undefined;
  /** The latest work on an assignment. */
  #taking: Promise<void> = Promise.resolve();
  #rejoin: NodeJS.Timeout | undefined;
  #failures = 0;
  #hasWarned = false;
  #isStopped = false;

  private constructor(deps: KafkaLineDeps, options: LineOptions, receiver: LineReceiver<KafkaHandle>) {
    this.#deps = deps;
    this.#options = options;
    this.#receiver = receiver;
    const { makeConsumer, outages, random, reading } = deps;
    const { topic, group, logger } = options;
    this.#commits = new Commits((places) => this.#commit(places), random);
    this.#fetcher = new Fetcher({
      ...{ makeConsumer, outages, random, topic, group, logger },
      wanted: () => this.#wanted(),
      onFetched: (messages) => {
        for (const message of messages) this.#buffer.push(receivedOf(message, reading));
        this.#handOn();
      },
    });
  }

  /** Joins the group and takes its first partitions; rejects if that fails. */
  static async open(
    deps: KafkaLineDeps,
    options: LineOptions,
    receiver: LineReceiver<KafkaHandle>,
  ): Promise<KafkaLine> {
    const line = new KafkaLine(deps, options, receiver);
    try {
      await line.#join();
    } catch (error) {
      line.#isStopped = true;
      await line.close();
      throw new Error(reasonOf(error), { cause: error });
    }
    return line;
  }

  async #join(): Promise<void> {
    const membership: GroupMembership = new GroupMembership({
      ...{ makeConsumer: this.#deps.makeConsumer, topic: this.#options.topic, times: this.#deps.times },
      assigned: (assignment) => {
        if (this.#membership !== membership) return;
        this.#taking = this.#assigned(membership, assignment);
        // Reported by the membership's loss, except the first one's.
        this.#taking.catch((error: unknown) => this.#lost(membership, error));
      },
      lost: (error) => this.#lost(membership, error),
    });
    this.#membership = membership;
    await membership.join();
    await this.#taking;
    if (this.#membership !== membership) throw new Error('the group has lost this process');
    this.#failures = 0;
    this.#deps.outages.onConnected(this);
  }

  /** This process keeps its partitions only if no other process can have had them in between. */
  async #assigned(membership: GroupMembership, assignment: Assignment): Promise<void> {
    const last = this.#assignment;
    this.#assignment = assignment;
    // A member that joins again after its connection broke may find the group as it was.
    const keepsPlace =
      last?.memberId === assignment.memberId && [0, 1].includes(assignment.generation - last.generation);
    const kept = new Set(keepsPlace ? assignment.partitions : []);
    this.#lose((partition) => !kept.has(partition));
    const added = assignment.partitions.filter((partition) => !this.#partitions.has(partition));
    const { topic } = this.#options;
    try {
      const positions = await positionsOf(membership.consumer, topic, added, this.#deps.initialOffset);
      if (this.#assignment !== assignment) return;
      for (const [partition, offset] of positions)
        this.#partitions.set(partition, new PartitionOffsets(partition, offset));
      this.#fetcher.poll();
    } catch (error) {
      // The broker refuses the places of an assignment that the group has replaced meanwhile.
      if (this.#assignment === assignment) throw error;
    }
  }

  #lose(isGone: (partition: number) => boolean): void {
    let isAny = false;
    for (const [number, partition] of this.#partitions) {
      if (!isGone(number)) continue;
      isAny = true;
      partition.isLost = true;
      this.#partitions.delete(number);
    }
    if (!isAny) return;
    this.#buffer.extract(({ handle }) => handle.partition.isLost);
    this.#commits.forgetLost();
    this.#receiver.detach(({ partition }) => partition.isLost);
  }

  /** The group does without this process: another member takes its place. */
  #lost(membership: GroupMembership, error: unknown): void {
    if (this.#membership !== membership) return;
    this.#membership = undefined;
    this.#assignment = undefined;
    this.#lose(() => true);
    void membership.end();
    this.#rejoinSoon(error);
  }

  #rejoinSoon(error: unknown): void {
    if (this.#isStopped) return;
    this.#failures++;
    if (isUnreachable(error)) this.#deps.outages.onLost(this, reasonOf(error));
    else if (!this.#hasWarned) {
      this.#hasWarned = true;
      this.#warn(`the group gets no messages: ${reasonOf(error)}`);
    }
    const delayMs = backoffDelayMs(REJOIN, this.#failures, this.#deps.random);
    this.#rejoin = setTimeout(() => void this.#joinAgain(), delayMs);
  }

  async #joinAgain(): Promise<void> {
    try {
      await this.#join();
      if (!this.#hasWarned) return;
      this.#hasWarned = false;
      const { topic, group, logger } = this.#options;
      logger.info({ topic, group }, 'the group gets messages again');
    } catch (error) {
      // Unless it has been reported as lost already.
      if (this.#membership !== undefined) this.#lost(this.#membership, error);
    }
  }

  #warn(text: string): void {
    const { topic, group, logger } = this.#options;
    logger.warn({ topic, group }, text);
  }

  #wanted(): readonly PartitionOffsets[] {
    if (this.#isStopped || this.#receiver.room <= this.#buffer.length) return [];
    return [...this.#partitions.values()].filter(({ isFull }) => !isFull);
  }

  roomChanged(): void {
    this.#handOn();
    this.#fetcher.poll();
  }

  #handOn(): void {
    const messages: Received<KafkaHandle>[] = [];
    for (let room = this.#isStopped ? 0 : this.#receiver.room; room > 0; room--) {
      const one = this.#buffer.shift();
      if (one === undefined) break;
      messages.push(one);
    }
    if (messages.length > 0) this.#receiver.deliver(messages);
  }

  async #commit(places: readonly CommitPlace[]): Promise<void> {
    if (this.#membership === undefined) throw new Error('this process is not in the group');
    const { topic } = this.#options;
    const offsets = places.map(({ partition: { partition }, offset }) => ({
      ...{ topic, partition, leaderEpoch: -1 },
      offset: BigInt(offset),
    }));
    await this.#membership.consumer.commit({ offsets });
  }

  async ack({ partition, offset }: KafkaHandle): Promise<void> {
    const wasFull = partition.isFull;
    const settled = this.#commits.settle(partition, offset);
    if (wasFull && !partition.isFull) this.#fetcher.poll();
    await settled;
  }

  /** A message stays with this process as long as that is in the group. Kafka counts no deliveries. */
  hold(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#deps.outages.onClosed(this);
    clearTimeout(this.#rejoin);
    await this.#fetcher.end();
  }

  /** The next process begins at the recorded place. */
  release(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    await this.stop();
    await withTimeLimit(this.#commits.flush(), FLUSH_LIMIT_MS, () => new Error('not recorded')).catch(() => undefined);
    this.#commits.close();
    const membership = this.#membership;
    this.#membership = undefined;
    await membership?.end();
  }
}
