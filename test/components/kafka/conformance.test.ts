import { afterAll, beforeAll, describe, test } from 'vitest';
import { type PubSubNeed, pubSubConformance } from '../../../src/kit/index.ts';
import { hasBroker, KafkaTestBroker } from './kafka-test-broker.ts';

/** Kafka counts no deliveries. Its topics have letters, digits, dots, underscores and hyphens in their names. */
const LACKS: readonly PubSubNeed[] = ['attempts', 'anyName'];

describe.runIf(hasBroker())('conformance of Kafka', () => {
  let broker: KafkaTestBroker;
  beforeAll(async () => {
    broker = await KafkaTestBroker.start();
  });
  afterAll(() => broker?.[Symbol.asyncDispose]());

  for (const { name, needs, run } of pubSubConformance)
    test.skipIf(needs.some((need) => LACKS.includes(need)))(name, () =>
      run(() => broker.open({ maxMessageBytes: 2_000_000 })),
    );
});
