import type { DeliveryInfo, Message, MessageInfo, SidecarEvents } from '../../index.ts';
import type { AttemptRecord } from '../api/live.ts';
import { MessageEntry, type RecorderEntry } from './entries.ts';
import type { KeptPayloads } from './kept-payload.ts';
import { NameIndex } from './name-index.ts';
import type { Ring } from './ring.ts';

/** The dependencies of a log. */
export interface LogDeps {
  readonly ring: Pick<Ring<RecorderEntry>, 'add' | 'touch'>;
  readonly now: () => number;
}

type Failed = SidecarEvents['messageRetrying' | 'messageDropped' | 'messageDeadLettered' | 'messageUnsettled'][0];

/** Puts what happens to messages together: an entry for each message and group. */
export class MessageLog {
  readonly #deps: LogDeps;
  readonly #payloads: KeptPayloads;
  readonly #index = new NameIndex<MessageEntry>();

  constructor(deps: LogDeps, payloads: KeptPayloads) {
    this.#deps = deps;
    this.#payloads = payloads;
  }

  /** A group may have got the message already: the component delivers while the acceptance is still being reported. */
  published(info: MessageInfo, message: Message): void {
    const { messageId } = info;
    const isNew = (one: MessageEntry): boolean => isOf(one, info) && !one.isAnnounced;
    let known = this.#index.find(messageId, isNew);
    if (known === undefined) this.#add(info, message).isAnnounced = true;
    for (; known !== undefined; known = this.#index.find(messageId, isNew)) known.isAnnounced = true;
  }

  delivering(info: DeliveryInfo, message: Message): void {
    const entry = this.#entryOf(info, message);
    entry.begin(info.attempt, this.#deps.now(), message);
    this.#deps.ring.touch(entry);
  }

  delivered(info: DeliveryInfo, message: Message): void {
    this.#end(info, message, 'delivered');
  }

  failed(outcome: AttemptRecord['outcome'], info: Failed, message: Message): void {
    const entry = this.#end(info, message, outcome, info.reason);
    if ('deadLetterTopic' in info) entry.deadLetterTopic = info.deadLetterTopic;
  }

  /** The ring has dropped it. */
  forget(entry: MessageEntry): void {
    this.#index.remove(entry);
  }

  clear(): void {
    this.#index.clear();
  }

  /** An attempt that was not reported before began now: it had no route, or it began before all this is recorded. */
  #end(info: DeliveryInfo, message: Message, outcome: AttemptRecord['outcome'], reason?: string): MessageEntry {
    const now = this.#deps.now();
    const entry = this.#entryOf(info, message);
    if (entry.underWay === undefined) entry.begin(info.attempt, now, message);
    entry.end(outcome, now, reason);
    this.#deps.ring.touch(entry);
    return entry;
  }

  /**
   * Which message of that ID and group it is, for an ID may be used again: the one under way; one that waits for its next
   * attempt; one that was only published. After its end, a message that is delivered again is a new one.
   */
  #entryOf(info: DeliveryInfo, message: Message): MessageEntry {
    const { messageId, group, route } = info;
    const ofGroup = (one: MessageEntry): boolean => isOf(one, info) && one.group === group;
    const entry =
      this.#index.find(messageId, (one) => one.underWay === message && ofGroup(one)) ??
      this.#index.find(
        messageId,
        (one) => (one.outcome === 'retrying' || one.outcome === 'unsettled') && ofGroup(one),
      ) ??
      this.#index.find(messageId, (one) => one.group === undefined && isOf(one, info)) ??
      this.#add(info, message);
    entry.group = group;
    entry.route = route;
    return entry;
  }

  #add(info: MessageInfo, message: Message): MessageEntry {
    const entry = new MessageEntry(this.#deps.now(), info, message, this.#payloads.keep(message));
    this.#deps.ring.add(entry);
    this.#index.add(entry);
    return entry;
  }
}

function isOf(one: MessageEntry, { pubsubName, topic }: MessageInfo): boolean {
  return one.topic === topic && one.pubsubName === pubsubName;
}
