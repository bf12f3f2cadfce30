import {
  counterOf,
  counterPart,
  instantOf,
  instantPart,
  keyAfter,
  keyOf,
  namePart,
  partsOf,
  rangeOf,
} from '../../state/keys.ts';
import type { KeyRange } from '../../state/store.ts';

/** The number of parts of a group's key. */
const GROUP_PARTS = 5;
/** The number of parts of the key that says that a host has consumers. */
const CONSUMERS_PARTS = 7;

/**
 * The keys of a durable pub/sub component, under `pubsub / <component>`:
 *
 * - `sequence`: the first number that is not reserved
 * - `group / <topic> / <group>`: the group exists
 * - `group / <topic> / <group> / stand-in`: another host than the owner of the group's shard hands its messages out, or
 *   several do: the ID of that host, or none while any host with consumers may become it; and which hosts have which
 *   partitions, if there are several
 * - `group / <topic> / <group> / consumers / <host>`: a host that has consumers of the group
 * - `group / <topic> / <group> / collector`: the host that needs all partitions for a while
 * - `group / <topic> / <group> / recall`: the owner of the shard asks for the group back
 * - `group / <topic> / <group> / paused`: its messages are not handed out
 * - `rate / <topic> / <group>`: what was handed out of late, if the subscriptions of the group have a rate
 * - `groups`: how often groups were added or have ended
 * - `ready / <topic> / <group> / <number>`: a message of the group, in order of publication
 * - `delayed / <topic> / <group> / <instant> / <number>`: a message that waits for its retry, in order of time
 * - `kept / <topic> / <number> / <groups> / <instant>`: a message kept for groups that are still to come; `<groups>` is
 *   how many groups the component had at its publication, `<instant>` when that was
 *
 * A group has each of its messages under exactly one key; settling the message deletes it.
 */
export class Layout {
  readonly #root: readonly [string, string];

  constructor(component: string) {
    this.#root = ['pubsub', namePart(component)];
  }

  sequence(): string {
    return keyOf(...this.#root, 'sequence');
  }

  group(topic: string, group: string): string {
    return keyOf(...this.#root, 'group', namePart(topic), namePart(group));
  }

  groupCount(): string {
    return keyOf(...this.#root, 'groups');
  }

  /** Prefix of all groups and their delegates. */
  get groupPrefix(): string {
    return keyOf(...this.#root, 'group');
  }

  /** Prefix of all ready messages. */
  get readyPrefix(): string {
    return keyOf(...this.#root, 'ready');
  }

  /** The `readyPrefix` of a ready key's queue. */
  static queueOf(key: string): string {
    return key.slice(0, key.lastIndexOf('!', key.length - 2) + 1);
  }

  kept({ topic, number, groups, at }: KeptKey): string {
    return keyOf(...this.#root, 'kept', topic, counterPart(number), counterPart(groups), instantPart(at));
  }

  allKept(): KeyRange {
    return rangeOf(...this.#root, 'kept');
  }

  keptOfTopic(topic: string): KeyRange {
    return rangeOf(...this.#root, 'kept', namePart(topic));
  }

  /** The fields of a kept message's key. */
  static keptOf(key: string): KeptKey {
    const [topic = '', number = '', groups = '', at = ''] = partsOf(key).slice(-4);
    return { topic, number: counterOf(number), groups: counterOf(groups), at: instantOf(at) };
  }

  /** All groups, their delegates, and how many groups there are. */
  groups(): KeyRange {
    return { from: this.groupPrefix, to: keyAfter(this.groupCount()) };
  }

  /**
   * The host in the key of an entry that says that it has consumers, and the prefix of all such entries of the group;
   * `undefined` for any other key.
   */
  static consumersOf(key: string): { readonly prefix: string; readonly hostId: string } | undefined {
    const parts = partsOf(key);
    const hostId = parts.length === CONSUMERS_PARTS ? parts.at(-1) : undefined;
    return hostId === undefined ? undefined : { hostId, prefix: keyOf(...parts.slice(0, -1)) };
  }

  /** Whether a key in the range of groups is that of a group. */
  static isGroup(key: string): boolean {
    return partsOf(key).length === GROUP_PARTS;
  }

  /** The keys of one group, made once, so that a publish only appends the number. */
  queue(topicName: string, groupName: string): QueueLayout {
    const [topic, group] = [namePart(topicName), namePart(groupName)];
    return new QueueLayout({
      ready: keyOf(...this.#root, 'ready', topic, group),
      readyRange: rangeOf(...this.#root, 'ready', topic, group),
      delayed: keyOf(...this.#root, 'delayed', topic, group),
      delayedRange: rangeOf(...this.#root, 'delayed', topic, group),
      group: keyOf(...this.#root, 'group', topic, group),
      consumersRange: rangeOf(...this.#root, 'group', topic, group, 'consumers'),
      rate: keyOf(...this.#root, 'rate', topic, group),
    });
  }
}

/** The fields in the key of a kept message. */
export interface KeptKey {
  /** The topic as a part of keys: long names cannot be read back from it. */
  readonly topic: string;
  readonly number: number;
  /** How many groups the component had: the message is already in those of its topic. */
  readonly groups: number;
  readonly at: number;
}

/** The prefixes, ranges and keys of a {@link QueueLayout}. */
interface QueueKeys {
  readonly ready: string;
  readonly readyRange: KeyRange;
  readonly delayed: string;
  readonly delayedRange: KeyRange;
  readonly group: string;
  readonly consumersRange: KeyRange;
  readonly rate: string;
}

/** The keys of one group. */
export class QueueLayout {
  readonly readyRange: KeyRange;
  readonly delayedRange: KeyRange;
  /** The entry that names the group's delegate. */
  readonly delegate: string;
  /** The entry by which the owner of the shard asks for the group back. */
  readonly recall: string;
  /** The entry that is there while the group is paused. */
  readonly paused: string;
  /** The entry that names the host that needs all partitions. */
  readonly collector: string;
  /** The entries of all hosts that have consumers. */
  readonly consumersRange: KeyRange;
  /** The entry with what was handed out of late. */
  readonly rate: string;
  readonly #ready: string;
  readonly #delayed: string;

  constructor({ ready, readyRange, delayed, delayedRange, group, consumersRange, rate }: QueueKeys) {
    this.#ready = ready;
    this.readyRange = readyRange;
    this.#delayed = delayed;
    this.delayedRange = delayedRange;
    this.delegate = group + keyOf('stand-in');
    this.recall = group + keyOf('recall');
    this.paused = group + keyOf('paused');
    this.collector = group + keyOf('collector');
    this.consumersRange = consumersRange;
    this.rate = rate;
  }

  /** The entry that says that a host has consumers. */
  consumersAt(hostId: string): string {
    return this.consumersRange.from + keyOf(hostId);
  }

  /** Prefix of the group's ready messages. */
  get readyPrefix(): string {
    return this.#ready;
  }

  ready(number: number): string {
    // As keyOf would, for every message: a counter has nothing to escape.
    return `${this.#ready}${counterPart(number)}!`;
  }

  delayed(dueAt: number, number: number): string {
    return this.#delayed + keyOf(instantPart(dueAt), counterPart(number));
  }

  /** The range of delayed messages that are due at an instant. */
  dueRange(now: number): Required<KeyRange> {
    return { from: this.delayedRange.from, to: this.#delayed + keyOf(instantPart(Math.floor(now) + 1)) };
  }

  /** The instant in a delayed message's key. */
  dueAtOf(key: string): number {
    return instantOf(partsOf(key).at(-2) ?? '');
  }

  /** The number in a message's key. */
  numberOf(key: string): number {
    return counterOf(partsOf(key).at(-1) ?? '');
  }
}
