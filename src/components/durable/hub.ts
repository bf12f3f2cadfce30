import { ConflictError } from '../../state/errors.ts';
import type { StateStore } from '../../state/store.ts';
import type { Broker } from '../broker-access.ts';
import type { ComponentContext } from '../component.ts';
import type { ComponentSubscription, Message, PublishFailure, SubscribeOptions } from '../pubsub.ts';
import { Layout } from './layout.ts';
import { DurableQueue } from './queue.ts';
import { Settler } from './settler.ts';

/** How many numbers are reserved with one commit. */
const BLOCK = 1_000_000;

const NO_FAILURES: readonly PublishFailure[] = [];

interface Target {
  readonly queue: DurableQueue;
  readonly key: string;
}

/** One durable pub/sub component in one store: its groups, its numbers, its publishes. */
export class DurableHub implements Broker {
  readonly #store: StateStore;
  readonly #layout: Layout;
  readonly #settler: Settler;
  readonly #context: ComponentContext;
  readonly #topics = new Map<string, Map<string, DurableQueue>>();
  #next = 0;
  #reserved = 0;
  #reserving: Promise<void> | undefined;

  private constructor(component: string, context: ComponentContext) {
    this.#store = context.state;
    this.#layout = new Layout(component);
    this.#settler = new Settler(context.state);
    this.#context = context;
  }

  /** Reads which groups there are. */
  static async open(component: string, context: ComponentContext): Promise<DurableHub> {
    const hub = new DurableHub(component, context);
    for (const { value } of await context.state.scan(hub.#layout.groups())) {
      const { topic, group } = JSON.parse(Buffer.from(value.subarray(1)).toString()) as {
        topic: string;
        group: string;
      };
      hub.#addQueue(topic, group);
    }
    return hub;
  }

  /** One commit for all messages, in all their groups. */
  async publish(messages: readonly Message[]): Promise<readonly PublishFailure[]> {
    while (this.#next + messages.length > this.#reserved) await this.#reserve(messages.length);
    const put = [];
    const written: { readonly message: Message; readonly number: number; readonly targets: readonly Target[] }[] = [];
    for (const message of messages) {
      const number = this.#next++;
      const targets: Target[] = [];
      for (const queue of this.#topics.get(message.topic)?.values() ?? []) {
        const one = queue.putFor(message, number);
        put.push(one);
        targets.push({ queue, key: one.key });
      }
      written.push({ message, number, targets });
    }
    if (put.length === 0) return NO_FAILURES;
    await this.#store.commit({ put });
    for (const { message, number, targets } of written) {
      for (const { queue, key } of targets) queue.committed(message, number, key);
    }
    return NO_FAILURES;
  }

  /** Joins a group, which exists from then on and collects messages, whether or not it has consumers. */
  async subscribe(options: SubscribeOptions, context: ComponentContext): Promise<ComponentSubscription> {
    const { topic, group } = options;
    let queue = this.#topics.get(topic)?.get(group);
    if (queue === undefined) {
      const value = Buffer.concat([Buffer.from([1]), Buffer.from(JSON.stringify({ topic, group }))]);
      await this.#store.commit({ put: [{ key: this.#layout.group(topic, group), value }] });
      queue = this.#addQueue(topic, group);
    }
    return queue.join(options, context.clock);
  }

  /** Resolves once all settlements are durable, or have failed. */
  flushed(): Promise<void> {
    return this.#settler.flushed();
  }

  #addQueue(topic: string, group: string): DurableQueue {
    let groups = this.#topics.get(topic);
    if (groups === undefined) {
      groups = new Map();
      this.#topics.set(topic, groups);
    }
    const existing = groups.get(group);
    if (existing !== undefined) return existing;
    const { logger, track } = this.#context;
    const layout = this.#layout.queue(topic, group);
    const queue = new DurableQueue({ store: this.#store, settler: this.#settler, layout, topic, logger, track });
    groups.set(group, queue);
    return queue;
  }

  /** Numbers order messages and are never used twice, also after a crash: they are reserved before they are used. */
  #reserve(count: number): Promise<void> {
    this.#reserving ??= this.#reserveBlock(count).finally(() => {
      this.#reserving = undefined;
    });
    return this.#reserving;
  }

  async #reserveBlock(count: number): Promise<void> {
    const key = this.#layout.sequence();
    const entry = await this.#store.get(key);
    const from = entry === undefined ? 0 : Number(Buffer.from(entry.value.subarray(1)).toString());
    const to = from + Math.max(BLOCK, count);
    const value = Buffer.concat([Buffer.from([1]), Buffer.from(String(to))]);
    try {
      await this.#store.commit({ require: [{ key, version: entry?.version ?? 'absent' }], put: [{ key, value }] });
    } catch (error) {
      if (error instanceof ConflictError) return;
      throw error;
    }
    this.#next = from;
    this.#reserved = to;
  }
}
