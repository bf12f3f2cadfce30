import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedState } from '../../src/components/embedded/index.ts';
import {
  durablePubSub,
  type MessageHandler,
  memoryPubSub,
  type QueueRef,
  type SubscribeOptions,
} from '../../src/index.ts';
import type { PubSubDefinition, StateDefinition } from '../../src/kit/index.ts';
import { patientClock } from './clock.ts';
import { KeptStore } from './kept-store.ts';
import { TestSidecar } from './sidecar.ts';

/** Where the queues of a world are. */
export type Place = 'memory' | 'durable' | 'durable, on disk';

/** All places. */
export const PLACES: readonly Place[] = ['memory', 'durable', 'durable, on disk'];

/** What is delivered to a function. */
export interface Seen {
  readonly data: unknown;
  readonly attempt: number;
  readonly deadLetter: string | undefined;
}

/** The options of the component. */
export interface QueueWorldOptions {
  readonly place: Place;
  readonly component?: object;
  readonly startAt?: string;
}

interface Parts {
  readonly pubsub: PubSubDefinition;
  readonly state: StateDefinition;
  readonly directory: string | undefined;
  readonly startAt: string;
}

/** A sidecar with one component `pubsub`, whose messages outlive the sidecar. Functions in code process them. */
export class QueueWorld extends TestSidecar {
  readonly #directory: string | undefined;
  #held = 0;
  /** What was delivered, by topic. */
  readonly seen = new Map<string, Seen[]>();

  constructor({ pubsub, state, directory, startAt }: Parts) {
    super({ clock: patientClock({ startAt }), components: [pubsub], state });
    this.#directory = directory;
  }

  /** Makes a world and starts its sidecar. */
  static async make({
    place,
    component = {},
    startAt = '2026-01-01T00:00:00Z',
  }: QueueWorldOptions): Promise<QueueWorld> {
    const directory = place === 'durable, on disk' ? await mkdtemp(join(tmpdir(), 'insidecar-queues-')) : undefined;
    const state = directory === undefined ? new KeptStore() : embeddedState({ path: join(directory, 'state') });
    const pubsub = place === 'memory' ? memoryPubSub('pubsub', component) : durablePubSub('pubsub', component);
    const world = new QueueWorld({ pubsub, state, directory, startAt });
    await world.start();
    return world;
  }

  /** Waits until everything has come to rest; not while functions are held. */
  async rest(): Promise<void> {
    if (this.#held === 0) await this.clock.settled();
  }

  /** Functions that return the promise are held until `release` is called. */
  hold(): { readonly held: Promise<void>; readonly release: () => void } {
    this.#held++;
    let end = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      end = resolve;
    });
    const release = (): void => {
      this.#held--;
      end();
    };
    return { held, release };
  }

  get pubsub(): TestSidecar['sidecar']['pubsub'] {
    return this.sidecar.pubsub;
  }

  /** The name of a queue of the component; the group is that of this application. */
  queue(topic: string, group = 'shop'): QueueRef {
    return { pubsubName: 'pubsub', topic, group };
  }

  async publish(topic: string, ...data: readonly unknown[]): Promise<void> {
    for (const one of data) await this.pubsub.publish('pubsub', topic, one);
    await this.rest();
  }

  /** Subscribes with a function that notes what it gets, and answers with `handler`, if there is one. */
  async subscribe(
    topic: string,
    options: SubscribeOptions = {},
    handler?: MessageHandler<unknown>,
  ): Promise<() => Promise<void>> {
    const subscription = await this.pubsub.subscribe(
      'pubsub',
      topic,
      (event, context) => {
        const seen = { data: event.data, attempt: context.attempt, deadLetter: context.deadLetter?.reason };
        this.seen.set(topic, [...(this.seen.get(topic) ?? []), seen]);
        return handler?.(event, context);
      },
      options,
    );
    await this.rest();
    return () => subscription.close();
  }

  /** The data of what was delivered on a topic. */
  data(topic: string): readonly unknown[] {
    return (this.seen.get(topic) ?? []).map(({ data }) => data);
  }

  /** The data of the messages that are in a queue. */
  async waiting(topic: string, group = 'shop'): Promise<readonly unknown[]> {
    const { messages } = await this.pubsub.queues.messagesPage(this.queue(topic, group), { limit: 1_000 });
    return messages.map(({ message }) => (JSON.parse(Buffer.from(message.data).toString()) as { data: unknown }).data);
  }

  /** Makes dead letters of data: `orders` cannot process them. */
  async deadLetters(...data: readonly unknown[]): Promise<void> {
    const end = await this.subscribe('orders', { deadLetterTopic: 'dead', retry: { maxRetries: 0 } }, () => {
      throw new Error('declined');
    });
    await this.publish('orders', ...data);
    await end();
    this.seen.clear();
  }

  /** As when the process ends and another one begins. */
  async restart(): Promise<void> {
    await this.replace();
    await this.start();
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    if (this.#directory !== undefined) await rm(this.#directory, { recursive: true });
  }
}
