import { withTimeLimit } from '../../util/time-limit.ts';
import { clearInterval, setInterval, setTimeout } from '../../util/timers.ts';
import { found, type KafkaConsumer } from './driver.ts';
import { assignRanges } from './partitioning.ts';

const END_LIMIT_MS = 2_000;
const REJOIN_DELAY_MS = 250;

/** How long a group does without a sign of a member. */
export interface GroupTimes {
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
}

/** The partitions of a topic that a member has. */
export interface Assignment {
  readonly memberId: string;
  /** Grows by one each time the group divides its partitions. */
  readonly generation: number;
  readonly partitions: readonly number[];
}

/** The dependencies of a {@link GroupMembership}. */
export interface GroupMembershipDeps {
  readonly makeConsumer: (options: object) => KafkaConsumer;
  readonly topic: string;
  readonly times: GroupTimes;
  readonly assigned: (assignment: Assignment) => void;
  /** The group does without this member, or will soon: it can only be replaced. */
  readonly lost: (error: Error) => void;
}

/** One membership in a consumer group. It outlives connections, as long as heartbeats arrive in time. */
export class GroupMembership {
  readonly consumer: KafkaConsumer;
  readonly #deps: GroupMembershipDeps;
  #watch: NodeJS.Timeout | undefined;
  /** A heartbeat must be confirmed before this instant has been over for the session timeout. */
  #seenAt = performance.now();
  #isEnded = false;

  constructor(deps: GroupMembershipDeps) {
    this.#deps = deps;
    const { sessionTimeoutMs, heartbeatIntervalMs } = deps.times;
    this.consumer = deps.makeConsumer({
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      protocols: [{ name: 'range', version: 1 }],
      partitionAssigner: assignRanges,
      // To join takes until all other members have noticed.
      requestTimeout: sessionTimeoutMs * 2,
    });
  }

  /** Joins the group; `assigned` is called before it resolves. */
  async join(): Promise<void> {
    const { consumer } = this;
    const { topic, times } = this.#deps;
    consumer.on('consumer:group:join', () => this.#joined());
    consumer.on('consumer:heartbeat:end', () => this.#seen(0));
    // Until the group has divided its partitions again, there are no heartbeats.
    consumer.on('consumer:group:rebalance', () => this.#seen(times.sessionTimeoutMs));
    consumer.on('consumer:heartbeat:error', (payload) => void this.#heartbeatFailed(payload));
    consumer.on('error', (error) => this.#lost(error as Error));
    consumer.topics.track(topic);
    await consumer.metadata({ topics: [topic], autocreateTopics: true });
    await consumer.joinGroup({});
    if (this.#isEnded) throw new Error('the membership has ended');
    this.#watch = setInterval(() => this.#checkHeartbeat(), times.heartbeatIntervalMs);
  }

  #seen(graceMs: number): void {
    this.#seenAt = performance.now() + graceMs;
  }

  #joined(): void {
    this.#seen(0);
    const { memberId, generationId, assignments } = this.consumer;
    const own = assignments?.find(({ topic }) => topic === this.#deps.topic);
    if (this.#isEnded || memberId === null) return;
    this.#deps.assigned({ memberId, generation: generationId, partitions: own?.partitions ?? [] });
  }

  #checkHeartbeat(): void {
    const { sessionTimeoutMs } = this.#deps.times;
    if (performance.now() - this.#seenAt > sessionTimeoutMs)
      this.#lost(new Error(`no heartbeat was confirmed for ${sessionTimeoutMs} ms`));
  }

  /** The driver sends no further heartbeats then, and asks the same broker for ever. */
  async #heartbeatFailed(payload: unknown): Promise<void> {
    const { error } = payload as { readonly error: Error };
    if (found(error, 'apiId', 'NOT_COORDINATOR')) return this.#lost(error);
    // As the same member, which keeps its partitions.
    while (!this.#isEnded) {
      try {
        await this.consumer.joinGroup({});
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, REJOIN_DELAY_MS));
      }
    }
  }

  #lost(error: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#watch);
    this.#deps.lost(error);
  }

  /** Leaves the group, so that others have the partitions at once. Best effort. */
  async end(): Promise<void> {
    this.#isEnded = true;
    clearInterval(this.#watch);
    const { consumer } = this;
    const left = consumer.leaveGroup(true).then(() => consumer.close(true));
    await withTimeLimit(left, END_LIMIT_MS, () => new Error('the broker does not respond')).catch(() =>
      consumer.connections.close().catch(() => undefined),
    );
  }
}
