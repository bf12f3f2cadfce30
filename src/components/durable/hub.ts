import { isConflict, isStateError, StateError } from '../../state/errors.ts';
import { MAX_VALUE_BYTES, type StateStore } from '../../state/store.ts';
import { readValue, withFormat } from '../../state/values.ts';
import type { Broker } from '../broker-access.ts';
import type { ComponentContext } from '../component.ts';
import type { ComponentSubscription, Message, PublishFailure, SubscribeOptions } from '../pubsub.ts';
import { encodeQueued } from './codec.ts';
import { GroupCommit } from './group-commit.ts';
import { Layout } from './layout.ts';
import { DurableQueue } from './queue.ts';

/** How many numbers are reserved with one commit. */
const BLOCK = 1_000_000;

const NO_FAILURES: readonly PublishFailure[] = [];

/** The longest value that is published: what a retry adds to it must still fit into the store's longest. */
const MOST_BYTES = MAX_VALUE_BYTES - 64;

const NOTHING_TO_DO = Promise.resolve();

/** One durable pub/sub component in one store: its groups, its numbers, its publishes. */
export class DurableHub implements Broker {
  readonly #store: StateStore;
  readonly #layout: Layout;
  readonly #commits: GroupCommit;
  readonly #context: ComponentContext;
  readonly #topics = new Map<string, Map<string, DurableQueue>>();
  #next = 0;
  #reserved = 0;
  #reserving: Promise<void> | undefined;

  private constructor(component: string, context: ComponentContext) {
    this.#store = context.state;
    this.#layout = new Layout(component);
    this.#commits = new GroupCommit(context.state);
    this.#context = context;
  }

  /** Reads which groups there are. */
  static async open(component: string, context: ComponentContext): Promise<DurableHub> {
    const hub = new DurableHub(component, context);
    for (const { key, value } of await context.state.scan(hub.#layout.groups())) {
      const { topic, group } = readRecord(key, value) as {
        topic: string;
        group: string;
      };
      hub.#addQueue(topic, group);
    }
    return hub;
  }

  /** Each message goes to all its groups or to none; those of one turn of the event loop go down together. */
  async publish(messages: readonly Message[]): Promise<readonly PublishFailure[]> {
    while (this.#next + messages.length > this.#reserved) await this.#reserve(messages.length);
    const [only] = messages;
    if (messages.length === 1 && only !== undefined) {
      try {
        await this.#publishOne(only);
      } catch (error) {
        throw refusalOf(error);
      }
      return NO_FAILURES;
    }
    const results = await Promise.allSettled(messages.map((message) => this.#publishOne(message)));
    return results.flatMap((result, index) =>
      result.status === 'rejected' ? [{ index, error: refusalOf(result.reason) }] : [],
    );
  }

  #publishOne(message: Message): Promise<void> {
    const number = this.#next++;
    const groups = this.#topics.get(message.topic);
    if (groups === undefined) return NOTHING_TO_DO;
    const value = encodeQueued({ message, attempts: 0 });
    if (value.length > MOST_BYTES)
      return Promise.reject(
        new StateError('invalid', `The message has ${value.length} bytes: at most ${MOST_BYTES} are kept.`),
      );
    const queues = [...groups.values()];
    const put = queues.map((queue) => ({ key: queue.publishing(number), value }));
    const onDurable = (): void => {
      for (const [at, { key }] of put.entries()) queues[at]?.committed(message, number, key);
    };
    return this.#commits.change(put, undefined, onDurable).catch((error: unknown) => {
      for (const [at, { key }] of put.entries()) queues[at]?.notPublished(key);
      throw error;
    });
  }

  /** Joins a group, which exists from then on and collects messages, whether or not it has consumers. */
  async subscribe(options: SubscribeOptions, context: ComponentContext): Promise<ComponentSubscription> {
    const { topic, group } = options;
    let queue = this.#topics.get(topic)?.get(group);
    if (queue === undefined) {
      const value = record({ topic, group });
      await this.#store.commit({ put: [{ key: this.#layout.group(topic, group), value }] });
      queue = this.#addQueue(topic, group);
    }
    return queue.join(options, context.clock);
  }

  /** Resolves once all settlements are durable, or have failed. */
  flushed(): Promise<void> {
    return this.#commits.flushed();
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
    const queue = new DurableQueue({ store: this.#store, commits: this.#commits, layout, topic, logger, track });
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
    const from = entry === undefined ? 0 : (readRecord(key, entry.value) as number);
    const to = from + Math.max(BLOCK, count);
    const value = record(to);
    try {
      await this.#store.commit({ require: [{ key, version: entry?.version ?? 'absent' }], put: [{ key, value }] });
    } catch (error) {
      if (isConflict(error)) return;
      throw error;
    }
    this.#next = from;
    this.#reserved = to;
  }
}

/** Format 1 of what is not a message: JSON. */
const RECORD_FORMAT = 1;

function record(content: unknown): Uint8Array {
  return withFormat(RECORD_FORMAT, Buffer.from(JSON.stringify(content)));
}

function readRecord(key: string, value: Uint8Array): unknown {
  return readValue(key, value, {
    [RECORD_FORMAT]: (payload) => JSON.parse(Buffer.from(payload).toString()) as unknown,
  });
}

/** For publishers, who may be anywhere: without the keys and paths that the store's own message names. */
function refusalOf(cause: unknown): Error {
  const kind = isStateError(cause) ? cause.kind : 'failed';
  if (kind === 'invalid') return new Error('the message is too large: it may have 8 MiB with its envelope', { cause });
  return new Error(kind === 'full' ? 'the state store has no space left' : 'the state store has failed', { cause });
}
