import assert from 'node:assert/strict';
import type {
  ComponentSubscription,
  ConsumerOptions,
  Delivery,
  Message,
  PubSubComponent,
} from '../components/pubsub.ts';

/** Time limit for expected events. */
const PATIENCE_MS = 10_000;
/** How long to check that an event does not happen. */
const SILENCE_MS = 60;

export async function eventually(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!holds()) {
    assert.ok(performance.now() < deadline, `timed out waiting until ${what}`);
    await later(2);
  }
}

/** Waits in real time: suites run against real brokers. */
export function later(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** A consumer that records its deliveries. */
export class Collector {
  /** All deliveries, in order. */
  readonly deliveries: Delivery[] = [];
  /** The time of each delivery, by `performance.now()`. */
  readonly times: number[] = [];
  #subscription: ComponentSubscription | undefined;
  readonly #onDelivery: ((delivery: Delivery) => void) | undefined;

  private constructor(onDelivery?: (delivery: Delivery) => void) {
    this.#onDelivery = onDelivery;
  }

  /** Subscribes; `onDelivery` may settle. */
  static async join(
    component: PubSubComponent,
    options: Partial<ConsumerOptions> & Pick<ConsumerOptions, 'topic'>,
    onDelivery?: (delivery: Delivery) => void,
  ): Promise<Collector> {
    const collector = new Collector(onDelivery);
    collector.#subscription = await component.subscribe({
      group: 'app',
      maxInFlight: 1_000,
      ordered: false,
      paused: false,
      ...options,
      deliver: (deliveries) => collector.#take(deliveries),
    });
    return collector;
  }

  #take(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      this.deliveries.push(delivery);
      this.times.push(performance.now());
      this.#onDelivery?.(delivery);
    }
  }

  /** The texts of all deliveries, in order. */
  get texts(): string[] {
    return this.deliveries.map(textOf);
  }

  get subscription(): ComponentSubscription {
    assert.ok(this.#subscription !== undefined);
    return this.#subscription;
  }

  /** Waits for this many deliveries and checks that no more come. */
  async expect(count: number): Promise<readonly Delivery[]> {
    await eventually(
      `${count} messages were delivered (now ${this.deliveries.length})`,
      () => this.deliveries.length >= count,
    );
    await later(SILENCE_MS);
    assert.equal(this.deliveries.length, count, 'more messages were delivered than expected');
    return this.deliveries;
  }
}

export function textMessage(topic: string, text: string, more: Partial<Message> = {}): Message {
  return {
    id: `id-${text}`,
    topic,
    data: Buffer.from(text),
    contentType: 'text/plain',
    raw: true,
    metadata: {},
    ...more,
  };
}

/** Publishes texts to a topic, in one call. */
export async function publishTexts(component: PubSubComponent, topic: string, texts: readonly string[]): Promise<void> {
  assert.deepEqual(await component.publish(texts.map((text) => textMessage(topic, text))), []);
}

/** The text of a delivery: not every broker returns its ID. */
export function textOf({ message }: Delivery): string {
  return Buffer.from(message.data).toString();
}

export function acknowledge(delivery: Delivery): void {
  void delivery.ack();
}
