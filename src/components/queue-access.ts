import type { Message } from './pubsub.ts';

/** A queue of a component: the messages of a topic for one group. @public */
export interface GroupQueue {
  /** The topic. */
  readonly topic: string;
  /** The consumer group: the app ID, followed by `/` and the group's name if it has one. */
  readonly group: string;
}

/** The event that a queued message waits for: a consumer, its instant, or its settlement. @public */
export type MessageState = 'ready' | 'delayed' | 'inFlight';

/** A message in a queue. @public */
export interface QueueEntry {
  /** Identifies it in its queue, until it is settled. */
  readonly key: string;
  /** The event that it waits for. */
  readonly state: MessageState;
  /** The message. Its `deadLetter` is the origin of a dead letter. */
  readonly message: Message;
  /** The number of deliveries that are recorded. */
  readonly attempts: number;
  /** When a delayed message is due, in milliseconds since 1970. */
  readonly dueAt?: number;
}

/** A queue, and how much waits in it. Counts end at 10,000. @public */
export interface QueueStatus extends GroupQueue {
  /** Messages that wait for a consumer. */
  readonly ready: number;
  /** Messages that wait for their instant. */
  readonly delayed: number;
  /** Messages handed out by this process and not settled. */
  readonly inFlight: number;
  /** Whether more wait than were counted. */
  readonly isCapped: boolean;
  /** The first message that waits. */
  readonly first?: Message;
  /** Its consumers in this process. */
  readonly consumers: number;
  /** Whether it is paused. */
  readonly isPaused: boolean;
  /** Whether it keeps dead letters until somebody subscribes to the topic. */
  readonly keepsDeadLetters: boolean;
  /** The host that hands its messages out, as far as it is known. */
  readonly hostId?: string;
}

/** Which part of a queue to read. @public */
export interface QueueRead {
  /** Only messages in this state. Default: all. */
  readonly state?: MessageState;
  /** The `cursor` of the page before. Default: from the start. */
  readonly cursor?: string;
  /** The most messages. */
  readonly limit: number;
  /** Whether the last message comes first. Default: false. */
  readonly reverse?: boolean;
}

/** A part of a queue. @public */
export interface QueueEntryPage {
  /** The messages. */
  readonly entries: readonly QueueEntry[];
  /** For the next page; absent at the end. */
  readonly cursor?: string;
}

/** Messages of a queue: those with the keys, or all that match, or all. @public */
export interface QueueSelection {
  /** The keys. */
  readonly keys?: readonly string[];
  /** Whether a message is meant; without keys only. */
  readonly matches?: (entry: QueueEntry) => boolean;
}

/** Where a message goes. @public */
export interface Redelivery {
  /** The queue. */
  readonly to: GroupQueue;
  /** The message as it is stored there. */
  readonly message: Message;
}

/**
 * The queues of a component, to operate them. Reading consumes nothing. Methods that change messages leave those in
 * flight alone; each message is changed in one step that happens or does not, also when the process dies.
 *
 * Methods reject with a `SidecarError`: `ERR_QUEUE_NOT_FOUND`, or `ERR_QUEUE_BUSY` if another host hands the messages
 * out, or the messages change all the time.
 *
 * @public
 */
export interface QueueAccess {
  /** All queues, or those of a topic. */
  status(topic?: string): Promise<readonly QueueStatus[]>;
  /**
   * Queues that collect messages without a consumer, as far as this host knows; those that keep dead letters are left
   * out.
   */
  abandoned(): readonly AbandonedQueue[];
  /** The message of a key; `undefined` if it is gone. */
  find(queue: GroupQueue, key: string): Promise<QueueEntry | undefined>;
  /** Reads messages: ready ones in order, then delayed ones by their instant. Those in flight are among them. */
  read(queue: GroupQueue, read: QueueRead): Promise<QueueEntryPage>;
  /**
   * Moves messages to where `target` says, to the end of that queue, with no attempts; answers how many. Those without
   * a target stay.
   */
  redeliver(
    queue: GroupQueue,
    selection: QueueSelection,
    target: (entry: QueueEntry) => Redelivery | undefined,
  ): Promise<number>;
  /** Removes messages for good; answers how many. */
  discard(queue: GroupQueue, selection: QueueSelection): Promise<number>;
  /** Hands out no more messages, on all hosts and after a restart, or hands them out again. */
  setPaused(queue: GroupQueue, isPaused: boolean): Promise<void>;
  /** Adds a group, which collects the topic's messages from now on. Answers whether there was none. */
  addGroup(queue: GroupQueue): Promise<boolean>;
  /** Removes a group without consumers, with its messages. Answers whether there was one. */
  removeGroup(queue: GroupQueue): Promise<boolean>;
}

/** A queue that collects messages without a consumer: it has had no consumers for ten minutes. @public */
export interface AbandonedQueue extends GroupQueue {
  /** How many messages wait, counted to 10,000. */
  readonly messages: number;
}

/** The most messages of a queue that are counted. */
export const MAX_COUNTED = 10_000;
