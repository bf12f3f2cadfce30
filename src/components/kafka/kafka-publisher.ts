import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { setTimeout } from '../../util/timers.ts';
import type { Deadline } from '../broker/deadlines.ts';
import type { OutageLog } from '../outage-log.ts';
import type { Message, PublishFailure } from '../pubsub.ts';
import { closeClient, found, hasFailure, isUnreachable, type KafkaProducer, reasonOf } from './driver.ts';
import type { SizedRecord } from './records.ts';

const ALL_IN_SYNC = -1;
const MAX_BATCH = 1_000;
const RETRY: Backoff = { initialDelayMs: 50, maxDelayMs: 1_000, factor: 2, jitter: 0.5 };

interface PendingMessage extends SizedRecord {
  readonly message: Message;
  readonly deadline: Deadline;
  /** `undefined`: the broker has it. */
  readonly settle: (error: Error | undefined) => void;
}

/** The messages of a topic that wait, in order. */
interface Lane {
  waiting: PendingMessage[];
  isBusy: boolean;
}

/** The dependencies of a {@link KafkaPublisher}. */
export interface KafkaPublisherDeps {
  readonly name: string;
  readonly makeProducer: () => KafkaProducer;
  readonly maxMessageBytes: number;
  /** Makes the record of a message. @throws Error if Kafka cannot carry it */
  readonly recordOf: (message: Message) => SizedRecord;
  readonly outages: OutageLog;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

/** Publishes to all replicas that are in sync. One request of each topic is on its way: that keeps the order. */
export class KafkaPublisher {
  /** Why the latest attempt has failed. */
  failure: string | undefined;
  readonly #deps: KafkaPublisherDeps;
  readonly #lanes = new Map<string, Lane>();
  #producer: KafkaProducer | undefined;
  #isClosed = false;

  constructor(deps: KafkaPublisherDeps) {
    this.#deps = deps;
  }

  /** Resolves once the broker has confirmed the messages, with the failures among them. */
  publish(messages: readonly Message[], deadline: Deadline): Promise<readonly PublishFailure[]> {
    const failures: PublishFailure[] = [];
    let open = messages.length;
    return new Promise((resolve) => {
      if (open === 0) resolve(failures);
      for (const [index, message] of messages.entries()) {
        const settle = (error: Error | undefined): void => {
          if (error !== undefined) failures.push({ index, error });
          if (--open === 0) resolve(failures.sort((one, other) => one.index - other.index));
        };
        this.#accept(message, deadline, settle);
      }
    });
  }

  #accept(message: Message, deadline: Deadline, settle: PendingMessage['settle']): void {
    const { name, maxMessageBytes } = this.#deps;
    try {
      const { record, bytes } = this.#deps.recordOf(message);
      if (bytes > maxMessageBytes) {
        if (message.deadLetter !== undefined) return this.#accept(withoutOrigin(message), deadline, settle);
        throw new Error(`the message has ${bytes} bytes: ${name} takes ${maxMessageBytes}, the option maxMessageBytes`);
      }
      const lane = this.#laneOf(message.topic);
      lane.waiting.push({ message, record, bytes, deadline, settle });
      if (!lane.isBusy) void this.#serve(message.topic, lane);
    } catch (error) {
      settle(error as Error);
    }
  }

  #laneOf(topic: string): Lane {
    const lane = this.#lanes.get(topic) ?? { waiting: [], isBusy: false };
    this.#lanes.set(topic, lane);
    return lane;
  }

  async #serve(topic: string, lane: Lane): Promise<void> {
    lane.isBusy = true;
    // Messages of one turn go together.
    await Promise.resolve();
    for (let failures = 0; lane.waiting.length > 0 && !this.#isClosed; ) {
      const batch = this.#takeBatch(lane);
      if (batch.length === 0) continue;
      const again = await this.#send(batch);
      failures = again.length === 0 ? 0 : failures + 1;
      if (again.length === 0) continue;
      lane.waiting = [...again, ...lane.waiting];
      await new Promise((resolve) => setTimeout(resolve, backoffDelayMs(RETRY, failures, this.#deps.random)));
    }
    if (this.#isClosed) settleClosed(lane);
    lane.isBusy = false;
    this.#lanes.delete(topic);
  }

  /** A broker limits the bytes of what comes together. */
  #takeBatch(lane: Lane): readonly PendingMessage[] {
    const batch: PendingMessage[] = [];
    let taken = 0;
    let bytes = 0;
    for (const pending of lane.waiting) {
      if (batch.length >= MAX_BATCH || (batch.length > 0 && bytes + pending.bytes > this.#deps.maxMessageBytes)) break;
      taken++;
      // Its publish has failed already.
      if (pending.deadline.isOver) pending.settle(undefined);
      else {
        batch.push(pending);
        bytes += pending.bytes;
      }
    }
    lane.waiting.splice(0, taken);
    return batch;
  }

  /** Returns the messages to be sent again. */
  async #send(batch: readonly PendingMessage[]): Promise<readonly PendingMessage[]> {
    try {
      this.#producer ??= this.#makeProducer();
      const messages = batch.map(({ record }) => record);
      await this.#producer.send({ messages, acks: ALL_IN_SYNC, autocreateTopics: true });
      this.failure = undefined;
      this.#deps.outages.onConnected(this);
      for (const { settle } of batch) settle(undefined);
      return [];
    } catch (error) {
      this.failure = reasonOf(error);
      if (isUnreachable(error)) this.#deps.outages.onLost(this, this.failure);
      if (!isFinal(error)) return this.#prepareAgain(error, batch);
      const [only] = batch;
      if (batch.length > 1 || only === undefined) return this.#sendApart(batch);
      if (only.message.deadLetter !== undefined && isTooLarge(error)) {
        const message = withoutOrigin(only.message);
        return this.#send([{ ...only, ...this.#deps.recordOf(message), message }]);
      }
      only.settle(new Error(`${this.#deps.name} refuses the message: ${reasonOf(error)}`));
      return [];
    }
  }

  /** One of them may be to blame. */
  async #sendApart(batch: readonly PendingMessage[]): Promise<readonly PendingMessage[]> {
    for (const [index, pending] of batch.entries()) {
      const again = await this.#send([pending]);
      if (again.length > 0) return [...again, ...batch.slice(index + 1)];
    }
    return [];
  }

  #prepareAgain(error: unknown, batch: readonly PendingMessage[]): readonly PendingMessage[] {
    this.#producer?.clearMetadata();
    // The connection may be dead without a sign.
    if (found(error, 'code', 'PLT_KFK_TIMEOUT')) void this.#endProducer();
    return batch;
  }

  #makeProducer(): KafkaProducer {
    const producer = this.#deps.makeProducer();
    producer.on('error', () => undefined);
    return producer;
  }

  async #endProducer(): Promise<void> {
    const producer = this.#producer;
    this.#producer = undefined;
    if (producer !== undefined) await closeClient(producer);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#deps.outages.onClosed(this);
    for (const lane of this.#lanes.values()) settleClosed(lane);
    await this.#endProducer();
  }
}

/** These messages wait in vain; those on their way are settled when their request has ended. */
function settleClosed(lane: Lane): void {
  for (const { settle } of lane.waiting.splice(0)) settle(new Error('the component is closed'));
}

/** A dead letter without its origin, when it is too large with it: it would be tried for ever. */
function withoutOrigin({ deadLetter: _origin, ...rest }: Message): Message {
  return rest;
}

function isTooLarge(error: unknown): boolean {
  return hasFailure(error, 'MESSAGE_TOO_LARGE') || hasFailure(error, 'RECORD_LIST_TOO_LARGE');
}

/** Whether the same message would be refused again. */
function isFinal(error: unknown): boolean {
  return (
    isTooLarge(error) ||
    hasFailure(error, 'INVALID_RECORD') ||
    hasFailure(error, 'POLICY_VIOLATION') ||
    hasFailure(error, 'INVALID_TOPIC_EXCEPTION') ||
    hasFailure(error, 'TOPIC_AUTHORIZATION_FAILED') ||
    hasFailure(error, 'CLUSTER_AUTHORIZATION_FAILED')
  );
}
