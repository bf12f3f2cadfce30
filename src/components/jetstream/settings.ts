import type { Duration } from '../../util/duration.ts';
/** A number of nanoseconds per millisecond: JetStream counts in nanoseconds. */
export const NANOSECONDS = 1_000_000;

/** Where a new group begins. @public */
export type JetStreamDeliverPolicy =
  | 'all'
  | 'last'
  | 'new'
  | { readonly startSequence: number }
  | { readonly startTime: Date };

/** How streams are created. @public */
export interface CreatedStreams {
  /** How long messages are kept, whether they were delivered or not. Default: for ever. */
  readonly maxAge?: Duration | undefined;
  /** Max bytes of a stream; publishes fail when they are reached. Default: no limit. */
  readonly maxBytes?: number | undefined;
  /** The servers of a cluster that store each message. Default 1. */
  readonly replicas?: number | undefined;
}

/** How topics and groups are kept at the server. */
export interface JetStreamSettings {
  /** The stream of all topics. Absent: the one that has the subject. */
  readonly stream: string | undefined;
  readonly createStream: CreatedStreams | undefined;
  readonly deliverPolicy: JetStreamDeliverPolicy;
  readonly continueDurable: string | undefined;
  readonly ackWaitMs: number;
  readonly maxAckPending: number;
  readonly replicas: number | undefined;
  readonly memoryStorage: boolean;
}
