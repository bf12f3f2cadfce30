import { afterAll, beforeAll, describe, test } from 'vitest';
import { type PubSubNeed, pubSubConformance } from '../../../src/kit/index.ts';
import { hasBroker, MqttTestBroker } from './mqtt-test-broker.ts';

/** MQTT cannot store how often a message was delivered: its redelivery flag says only that it may have been once. */
const ALWAYS: readonly PubSubNeed[] = ['attempts'];
/** Without an instance ID, processes of a group have the same client ID, which only one of them can use. */
const ALONE: readonly PubSubNeed[] = ['sharing'];
/** MQTT 3.1.1 carries a topic and bytes. */
const BARE: readonly PubSubNeed[] = ['metadata', 'deadLetter'];

describe.runIf(hasBroker())('conformance of MQTT', () => {
  let broker: MqttTestBroker;
  beforeAll(async () => {
    broker = await MqttTestBroker.start();
  });
  afterAll(() => broker[Symbol.asyncDispose]());

  describe.each([
    { what: 'MQTT 5', protocolVersion: 5 as const, lacks: [...ALWAYS, ...ALONE], isShared: false },
    { what: 'MQTT 5 with shared subscriptions', protocolVersion: 5 as const, lacks: ALWAYS, isShared: true },
    { what: 'MQTT 3.1.1', protocolVersion: 4 as const, lacks: [...ALWAYS, ...ALONE, ...BARE], isShared: false },
    {
      what: 'MQTT 3.1.1 with shared subscriptions',
      protocolVersion: 4 as const,
      lacks: [...ALWAYS, ...BARE],
      isShared: true,
    },
  ])('$what', ({ protocolVersion, lacks, isShared }) => {
    for (const { name, needs, run } of pubSubConformance)
      test.skipIf(needs.some((need) => lacks.includes(need)))(name, () =>
        run(() => (isShared ? broker.openInstance({ protocolVersion }) : broker.open({ protocolVersion }))),
      );
  });
});
