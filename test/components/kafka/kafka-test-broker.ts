import { Admin } from '@platformatic/kafka';
import { type KafkaPubSubOptions, kafkaPubSub } from '../../../src/components/kafka/index.ts';
import { memoryState } from '../../../src/components/memory/memory-store.ts';
import type { PubSubComponent, PubSubDefinition } from '../../../src/components/pubsub.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasKafka, type OwnServer, startKafka } from '../../support/servers.ts';

/** The port on 127.0.0.1 of the broker that the environment names, if any. */
const GIVEN = process.env['INSIDECAR_TEST_KAFKA'];

/** Whether tests that need a broker can run. */
export function hasBroker(): boolean {
  return GIVEN !== undefined || hasKafka();
}

export async function createTopic(port: number, topic: string, partitions: number): Promise<void> {
  const admin = new Admin({ clientId: 'tests', bootstrapBrokers: [`127.0.0.1:${port}`] });
  await admin.createTopics({ topics: [topic], partitions, replicas: 1 });
  await admin.close();
}

/** A broker for a test file: that of `INSIDECAR_TEST_KAFKA`, or one of its own that speaks the protocol. */
export class KafkaTestBroker implements AsyncDisposable {
  readonly port: number;
  readonly logger = new RecordingLogger();
  readonly #server: OwnServer | undefined;

  private constructor(port: number, server?: OwnServer) {
    this.port = port;
    this.#server = server;
  }

  static async start(): Promise<KafkaTestBroker> {
    if (GIVEN !== undefined) return new KafkaTestBroker(Number(GIVEN));
    const server = await startKafka();
    return new KafkaTestBroker(server.port, server);
  }

  get brokers(): string[] {
    return [`127.0.0.1:${this.port}`];
  }

  define(options: Partial<KafkaPubSubOptions> = {}): PubSubDefinition {
    return kafkaPubSub('pubsub', { brokers: this.brokers, ...options });
  }

  async open(options: Partial<KafkaPubSubOptions> = {}, appId = 'app'): Promise<PubSubComponent> {
    const state = await memoryState().open({ clock: systemClock, logger: this.logger });
    const { logger } = this;
    return this.define(options).open({ appId, clock: systemClock, logger, state, track: () => () => undefined });
  }

  createTopic(topic: string, partitions: number): Promise<void> {
    return createTopic(this.port, topic, partitions);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }
}
