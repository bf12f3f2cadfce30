import { withTimeLimit } from '../../util/time-limit.ts';
import { loadBrokerDriver } from '../broker/load-driver.ts';

const CLOSE_LIMIT_MS = 1_000;

/** An error of the driver; several errors may be within. */
export interface DriverError extends Error {
  /** The error with this value of a property, this one or one within. */
  findBy?(property: string, value: unknown): Error | null;
}

/** A record to be produced. */
export interface OutgoingRecord {
  readonly topic: string;
  readonly key?: Buffer;
  readonly value: Buffer;
  readonly headers: ReadonlyMap<Buffer, Buffer>;
}

/** A fetched record; its place is relative to that of its batch. */
export interface FetchedRecord {
  readonly offsetDelta: number;
  readonly timestampDelta: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [Buffer | null, Buffer | null])[];
}

/** Records that were produced together. */
export interface RecordsBatch {
  readonly firstOffset: bigint;
  readonly lastOffsetDelta: number;
  readonly firstTimestamp: bigint;
  readonly attributes: number;
  readonly records: readonly FetchedRecord[];
}

interface FetchResponse {
  readonly responses: readonly {
    readonly partitions: readonly { readonly partitionIndex: number; readonly records?: readonly RecordsBatch[] }[];
  }[];
}

/** The known facts about a topic. */
export interface TopicMetadata {
  readonly id: string;
  readonly partitions: readonly { readonly leader: number }[];
}

/** Common to producers and consumers. */
interface Client {
  on(event: string, listener: (payload: unknown) => void): unknown;
  metadata(options: {
    readonly topics: string[];
    readonly autocreateTopics: boolean;
  }): Promise<{ readonly topics: ReadonlyMap<string, TopicMetadata> }>;
  clearMetadata(): void;
  readonly connections: { close(): Promise<void> };
  close(force: boolean): Promise<void>;
}

export interface KafkaProducer extends Client {
  send(options: {
    readonly messages: readonly OutgoingRecord[];
    readonly acks: number;
    readonly autocreateTopics: boolean;
  }): Promise<unknown>;
}

/** A place in a topic. */
export interface CommitOffset {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly leaderEpoch: number;
}

export interface KafkaConsumer extends Client {
  readonly memberId: string | null;
  readonly generationId: number;
  readonly assignments: readonly { readonly topic: string; readonly partitions: readonly number[] }[] | null;
  readonly topics: { track(topic: string): boolean };
  joinGroup(options: object): Promise<unknown>;
  leaveGroup(force: boolean): Promise<void>;
  commit(options: { readonly offsets: readonly CommitOffset[] }): Promise<void>;
  /** By topic, then by partition. */
  listOffsets(options: {
    readonly topics: readonly string[];
    readonly partitions: Readonly<Record<string, readonly number[]>>;
    readonly timestamp: bigint;
  }): Promise<ReadonlyMap<string, readonly bigint[]>>;
  listCommittedOffsets(options: {
    readonly topics: readonly { readonly topic: string; readonly partitions: readonly number[] }[];
  }): Promise<ReadonlyMap<string, readonly bigint[]>>;
  fetch(options: {
    readonly node: number;
    readonly maxWaitTime: number;
    readonly minBytes: number;
    readonly maxBytes: number;
    readonly topics: readonly {
      readonly topicId: string;
      readonly partitions: readonly {
        readonly partition: number;
        readonly currentLeaderEpoch: number;
        readonly fetchOffset: bigint;
        readonly lastFetchedEpoch: number;
        readonly partitionMaxBytes: number;
      }[];
    }[];
  }): Promise<FetchResponse>;
}

/** The used part of the package `@platformatic/kafka`: it need not be installed. */
export interface KafkaModule {
  readonly Producer: new (options: object) => KafkaProducer;
  readonly Consumer: new (options: object) => KafkaConsumer;
}

/**
 * Loads the driver.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the package to install.
 */
export function loadKafka(type = 'pubsub.kafka', name = '@platformatic/kafka'): Promise<KafkaModule> {
  return loadBrokerDriver({ name, version: '1' }, type);
}

/** Whether the driver reports an error of the broker, such as `OFFSET_OUT_OF_RANGE`. */
export function hasFailure(error: unknown, apiId: string): boolean {
  return found(error, 'apiId', apiId);
}

/** Whether the broker was not reached, or did not answer. */
export function isUnreachable(error: unknown): boolean {
  return found(error, 'code', 'PLT_KFK_NETWORK');
}

/** Whether an error has a property with this value, or one within it has. */
export function found(error: unknown, property: string, value: unknown): boolean {
  return error instanceof Error && ((error as DriverError).findBy?.(property, value) ?? null) !== null;
}

/** The innermost reason: the driver says only that something has failed several times. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors.at(-1));
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}

/** Ends the connections of a client, whatever the broker says. */
export async function closeClient(client: Client): Promise<void> {
  const closed = client.close(true);
  await withTimeLimit(closed, CLOSE_LIMIT_MS, () => new Error('the broker does not respond')).catch(() => undefined);
}
