import type { Expected } from '../../util/expected.ts';
import type { Logger } from '../../util/logger.ts';
import type { Broker } from '../broker-access.ts';
import type { ComponentContext } from '../component.ts';
import type { ComponentSubscription, Message, PublishFailure, SubscribeOptions } from '../pubsub.ts';
import { StartupPeriod } from '../startup-period.ts';
import { MemoryGroup } from './group.ts';

/** Limits of the messages held. */
export interface BrokerLimits {
  readonly maxMessages: number;
  readonly maxBytes: number;
}

/** The messages held now, in all groups. */
export interface Held {
  messages: number;
  bytes: number;
}

/** A message of the startup period, with the context of its publisher. */
interface KeptMessage {
  readonly message: Message;
  readonly context: ComponentContext;
}

const NO_FAILURES: Promise<readonly PublishFailure[]> = Promise.resolve([]);

/** The topics of one memory component and the groups that receive them. */
export class MemoryBroker implements Broker {
  readonly #limits: BrokerLimits;
  readonly #held: Held = { messages: 0, bytes: 0 };
  readonly #topics = new Map<string, Map<string, MemoryGroup>>();
  readonly #startup: StartupPeriod;
  /** Messages published in the startup period, by topic, in order. */
  readonly #kept = new Map<string, KeptMessage[]>();

  constructor(pubsubName: string, limits: BrokerLimits, expected: Expected) {
    this.#limits = limits;
    this.#startup = new StartupPeriod({ pubsubName, expected, onEnd: () => this.#dropKept() });
  }

  /**
   * Adds each message to every group of its topic. In the startup period it is also kept for later groups; otherwise,
   * without groups, it is lost.
   */
  publish(messages: readonly Message[], context: ComponentContext): Promise<readonly PublishFailure[]> {
    let failures: PublishFailure[] | undefined;
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index];
      if (message === undefined) continue;
      const groups = this.#topics.get(message.topic);
      const error = groups && this.#refusal(message, groups.size, context.logger);
      if (error !== undefined) {
        failures ??= [];
        failures.push({ index, error });
        continue;
      }
      if (groups !== undefined) for (const group of groups.values()) group.add(message);
      const isKept = this.#startup.isOpen && this.#keep(message, context);
      if (groups === undefined && !isKept) context.noGroup?.(message.topic, 1);
    }
    return failures === undefined ? NO_FAILURES : Promise.resolve(failures);
  }

  #keep(message: Message, context: ComponentContext): boolean {
    if (!this.#startup.takes(message.data.length, context)) return false;
    const kept = this.#kept.get(message.topic);
    if (kept === undefined) this.#kept.set(message.topic, [{ message, context }]);
    else kept.push({ message, context });
    return true;
  }

  /** All expected groups exist and have received the kept messages. */
  #dropKept(): void {
    for (const [topic, kept] of this.#kept)
      if (!this.#topics.has(topic)) for (const { context } of kept) context.noGroup?.(topic, 1);
    this.#kept.clear();
  }

  /**
   * Adds a consumer to a group, which exists from then on. A new group of an expected application starts with the kept
   * messages.
   */
  async subscribe(options: SubscribeOptions, { clock, subscriber }: ComponentContext): Promise<ComponentSubscription> {
    let groups = this.#topics.get(options.topic);
    if (groups === undefined) {
      groups = new Map();
      this.#topics.set(options.topic, groups);
    }
    let group = groups.get(options.group);
    if (group === undefined) {
      group = new MemoryGroup(this.#held);
      groups.set(options.group, group);
      if (subscriber?.isExpected) for (const { message } of this.#kept.get(options.topic) ?? []) group.add(message);
    }
    return group.join(options, clock);
  }

  async flushed(): Promise<void> {}

  left(context: ComponentContext): void {
    this.#startup.left(context);
  }

  #refusal(message: Message, copies: number, logger: Logger): Error | undefined {
    if (this.#fits(message, copies)) return undefined;
    this.#dropAbandoned(logger);
    if (this.#fits(message, copies)) return undefined;
    const { messages, bytes } = this.#held;
    const { maxMessages, maxBytes } = this.#limits;
    return new Error(
      `the queue in memory is full: ${messages} messages of ${maxMessages} and ${bytes} bytes of ${maxBytes} are held; ` +
        'it takes more when subscribers have settled some',
    );
  }

  #fits(message: Message, copies: number): boolean {
    const { messages, bytes } = this.#held;
    return (
      messages + copies <= this.#limits.maxMessages && bytes + copies * message.data.length <= this.#limits.maxBytes
    );
  }

  /** A group without consumers must not block publishers. */
  #dropAbandoned(logger: Logger): void {
    for (const [topic, groups] of this.#topics) {
      for (const [name, group] of groups) {
        if (group.hasConsumers) continue;
        groups.delete(name);
        const dropped = group.clear();
        logger.warn({ topic, group: name, dropped }, 'queue in memory is full: group without consumers dropped');
      }
      if (groups.size === 0) this.#topics.delete(topic);
    }
  }
}
