import { counterOf, counterPart, instantOf, instantPart, keyOf, namePart, partsOf, rangeOf } from '../../state/keys.ts';
import type { KeyRange } from '../../state/store.ts';

/**
 * Where a durable pub/sub component keeps what, below `pubsub / <component>`:
 *
 * - `sequence`: how far numbers are handed out
 * - `group / <topic> / <group>`: the group exists
 * - `groups`: how many groups have come
 * - `ready / <topic> / <group> / <number>`: a message of the group, in order of publication
 * - `delayed / <topic> / <group> / <instant> / <number>`: a message that waits for its retry, in order of time
 *
 * - `kept / <topic> / <number> / <groups> / <instant>`: a message of the startup period that groups may begin with, when
 *   it was published and how many groups there were then
 *
 * A message is in its group under exactly one key; settling it deletes that key.
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

  /** Below which all groups are. */
  get groupPrefix(): string {
    return keyOf(...this.#root, 'group');
  }

  /** Below which all messages are that are ready. */
  get readyPrefix(): string {
    return keyOf(...this.#root, 'ready');
  }

  /** The `readyPrefix` of the queue in which a ready key is. */
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

  /** What the key of a kept message says. */
  static keptOf(key: string): KeptKey {
    const [topic = '', number = '', groups = '', at = ''] = partsOf(key).slice(-4);
    return { topic, number: counterOf(number), groups: counterOf(groups), at: instantOf(at) };
  }

  groups(): KeyRange {
    return rangeOf(...this.#root, 'group');
  }

  /** Of one group: made once, so that a publish only adds the number. */
  queue(topicName: string, groupName: string): QueueLayout {
    const [topic, group] = [namePart(topicName), namePart(groupName)];
    return new QueueLayout(
      keyOf(...this.#root, 'ready', topic, group),
      rangeOf(...this.#root, 'ready', topic, group),
      keyOf(...this.#root, 'delayed', topic, group),
      rangeOf(...this.#root, 'delayed', topic, group),
    );
  }
}

/** What the key of a message of the startup period says. */
export interface KeptKey {
  /** As a part of keys: long names are not to be read from it. */
  readonly topic: string;
  readonly number: number;
  /** How many groups of the component there were: it is in those, as far as they are its topic's. */
  readonly groups: number;
  readonly at: number;
}

/** The keys of one group's messages. */
export class QueueLayout {
  readonly readyRange: KeyRange;
  readonly delayedRange: KeyRange;
  readonly #ready: string;
  readonly #delayed: string;

  constructor(ready: string, readyRange: KeyRange, delayed: string, delayedRange: KeyRange) {
    this.#ready = ready;
    this.readyRange = readyRange;
    this.#delayed = delayed;
    this.delayedRange = delayedRange;
  }

  /** What the keys of its ready messages begin with. */
  get readyPrefix(): string {
    return this.#ready;
  }

  ready(number: number): string {
    return this.#ready + keyOf(counterPart(number));
  }

  delayed(dueAt: number, number: number): string {
    return this.#delayed + keyOf(instantPart(dueAt), counterPart(number));
  }

  /** The delayed messages that are due at an instant. */
  dueRange(now: number): Required<KeyRange> {
    return { from: this.delayedRange.from, to: this.#delayed + keyOf(instantPart(Math.floor(now) + 1)) };
  }

  /** The instant of a delayed message's key. */
  dueAtOf(key: string): number {
    return instantOf(partsOf(key).at(-2) ?? '');
  }

  /** The number of a message's key. */
  numberOf(key: string): number {
    return counterOf(partsOf(key).at(-1) ?? '');
  }
}
