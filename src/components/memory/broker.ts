import type { Logger } from '../../util/logger.ts';
import type { Broker } from '../broker-access.ts';
import type { ComponentContext } from '../component.ts';
import type { ComponentSubscription, Message, PublishFailure, SubscribeOptions } from '../pubsub.ts';
import { MemoryGroup } from './group.ts';

/** How much a broker holds. */
export interface BrokerLimits {
  readonly maxMessages: number;
  readonly maxBytes: number;
}

/** What is held now, over all groups. */
export interface Held {
  messages: number;
  bytes: number;
}

const NO_FAILURES: Promise<readonly PublishFailure[]> = Promise.resolve([]);

/** The topics of one memory component and the groups that receive them. */
export class MemoryBroker implements Broker {
  readonly #limits: BrokerLimits;
  readonly #held: Held = { messages: 0, bytes: 0 };
  readonly #topics = new Map<string, Map<string, MemoryGroup>>();

  constructor(limits: BrokerLimits) {
    this.#limits = limits;
  }

  /** Gives each message to every group of its topic; without groups it is gone. */
  publish(messages: readonly Message[], { logger }: ComponentContext): Promise<readonly PublishFailure[]> {
    let failures: PublishFailure[] | undefined;
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index];
      const groups = message && this.#topics.get(message.topic);
      if (message === undefined || groups === undefined) continue;
      const error = this.#refusal(message, groups.size, logger);
      if (error === undefined) for (const group of groups.values()) group.add(message);
      else {
        failures ??= [];
        failures.push({ index, error });
      }
    }
    return failures === undefined ? NO_FAILURES : Promise.resolve(failures);
  }

  /** Adds a consumer to a group, which exists from then on. */
  async subscribe(options: SubscribeOptions, { clock }: ComponentContext): Promise<ComponentSubscription> {
    let groups = this.#topics.get(options.topic);
    if (groups === undefined) {
      groups = new Map();
      this.#topics.set(options.topic, groups);
    }
    let group = groups.get(options.group);
    if (group === undefined) {
      group = new MemoryGroup(this.#held);
      groups.set(options.group, group);
    }
    return group.join(options, clock);
  }

  async flushed(): Promise<void> {}

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

  /** A group that nobody consumes must not stop those who publish. */
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
