import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { DispatchedMessage } from '../dispatcher.ts';
import type { Message } from '../pubsub.ts';

/** A message as a broker delivers it. */
export interface Received<Handle> {
  readonly message: Message;
  /** The number of earlier deliveries to the group, to any process. */
  readonly attempts: number;
  /** The line's handle to settle this delivery. */
  readonly handle: Handle;
  /**
   * Identifies the message in its group, through all its deliveries: a redelivery of one that is still in process here
   * is then no second delivery. Absent: the broker gives no such value.
   */
  readonly key?: string;
  /**
   * Whether the broker says that it has never delivered the message before. One with the key of a message whose delivery
   * is valid is then a copy of it, to be settled by itself. `false`: it takes the place of such a delivery, which is acknowledged:
   * that was a copy's, or means nothing to the broker any more. Absent: it takes its place, and the broker settles both
   * with one acknowledgement.
   */
  readonly isFirst?: boolean;
}

/** A message of a line that is not settled. */
export interface Unsettled<Handle> extends DispatchedMessage {
  readonly key: string | undefined;
  /** Of the latest delivery. `undefined`: the connection that delivered it is gone. */
  handle: Handle | undefined;
}

/** An unsettled message whose delivery is valid. */
export interface Held<Handle> extends Unsettled<Handle> {
  handle: Handle;
}

/** Takes the deliveries of a line, and knows how many more it may take. */
export interface LineReceiver<Handle> {
  /** The number of further messages that may be delivered now. 0: the group is paused or its window is full. */
  readonly room: number;
  /** The number of messages that may be in process at a time, those that wait for a retry not counted. */
  readonly window: number;
  /** The number of delivered messages that are not settled, those that wait for a retry included. */
  readonly unsettled: number;
  /** Takes messages, in order. More than `room` are taken, too. */
  deliver(received: readonly Received<Handle>[]): void;
  /**
   * The connection that delivered is gone, and the broker delivers all unsettled messages again, or those that
   * `isGone` tells by their handles. Messages that no consumer has yet are forgotten; others are settled with their next
   * delivery, if that can be recognised by its key.
   */
  detach(isGone?: (handle: Handle) => boolean): void;
}

/** How a group is consumed. */
export interface LineOptions {
  readonly topic: string;
  readonly group: string;
  /** Whether messages are delivered one at a time, in order. */
  readonly ordered: boolean;
  /** The subscription's metadata. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The consumption of one group's messages from a broker. It reconnects by itself. Settlements reject when the broker
 * has not recorded them: the message is delivered again.
 */
export interface Line<Handle> {
  /** `room` has become 0 because the group is paused, or has grown to half of the window, or to 256 if that is less. */
  roomChanged(): void;
  /** Acknowledges a delivery. Resolves once the broker has it, or it is sent if the broker confirms none. */
  ack(handle: Handle): Promise<void>;
  /**
   * Lets the broker deliver the message again in `delayMs`. `undefined`: not this time, the caller delays it in memory
   * and calls `hold`.
   */
  delay?(entry: Held<Handle>, delayMs: number): Promise<void> | undefined;
  /**
   * The message stays here for `delayMs` more, outside of the window. Records the number of its deliveries, where the
   * broker can.
   */
  hold(entry: Held<Handle>, delayMs: number): Promise<void>;
  /** Delivers nothing more. Called first at the end: what the broker sends afterwards goes back with the rest. */
  stop(): Promise<void>;
  /** Returns messages to the broker, in order, for other consumers. Best effort: some brokers return them at `close`. */
  release(entries: readonly Held<Handle>[]): Promise<void>;
  /** Frees everything. The group and its messages stay. */
  close(): Promise<void>;
}
